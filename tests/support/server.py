"""A real server process, on a port of its own, with the clients of `support.world`."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import apsw
import httpx

from support.world import OPTIONS, token_of

ROOT = Path(__file__).parents[2]
READY_S = 10.0  # a loaded test machine; what a start takes is asserted by a test of its own


@dataclass
class Server:
    """Starts with `start`, ends with `stop` or `kill`; the data folder outlives it."""

    folder: Path
    options: Mapping[str, Any] | None = None
    environment: Mapping[str, str] | None = None
    process: subprocess.Popen[bytes] | None = None
    port: int = 0
    page_port: int = 0
    ready_s: float = 0.0
    ready_cpu_s: float = 0.0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log_path(self) -> Path:
        return self.folder / "server.log"

    def log(self) -> str:
        return self.log_path.read_text(encoding="utf-8", errors="replace")

    def start(self, *, port: int = 0) -> Self:
        """Start the process, on a port of the system's choice, and wait until it says that it is ready."""
        self.folder.mkdir(exist_ok=True, mode=0o700)
        options = self.folder / "options.json"
        options.write_text(json.dumps({**OPTIONS, **(self.options or {})}))
        begun = time.monotonic()
        with self.log_path.open("wb") as log:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "agent_memory",
                    "serve",
                    "--data",
                    str(self.folder),
                    "--port",
                    str(port),
                    "--page-port",
                    "0",
                ],
                cwd=ROOT,
                env={**_surroundings(), "PYTHONUNBUFFERED": "1", **(self.environment or {})},
                stderr=log,
                stdout=log,
            )
        while time.monotonic() - begun < READY_S:
            found = re.search(r"event=ready .*listens=http://[\d.]+:(\d+),http://[\d.]+:(\d+)", self.log())
            if found:
                self.ready_s = time.monotonic() - begun
                self.ready_cpu_s = _cpu_s(self.process.pid)
                self.port, self.page_port = int(found[1]), int(found[2])
                return self
            if self.process.poll() is not None:
                raise AssertionError(f"the server ended with {self.process.returncode}:\n{self.log()}")
            time.sleep(0.005)
        raise AssertionError(f"not ready within {READY_S} s:\n{self.log()}")

    def kill(self) -> None:
        """End it as a power cut would."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(10)

    def stop(self, *, within_s: float = 15.0) -> float:
        """Ask it to stop. Returns the seconds it took; its exit code must be 0."""
        assert self.process is not None
        begun = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(within_s)
        assert code == 0, f"exit code {code}:\n{self.log()}"
        return time.monotonic() - begun

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """What a statement reads from the database of a server that has ended."""
        conn = apsw.Connection(str(self.folder / "memory.db"))
        try:
            return [tuple(row) for row in conn.execute(sql)]
        finally:
            conn.close()

    def end(self) -> None:
        """Whatever state it is in."""
        if self.process is not None and self.process.poll() is None:
            self.kill()

    def client(self, name: str = "owner", **kwargs: Any) -> httpx.AsyncClient:
        headers = {"Authorization": f"Bearer {token_of(name)}"}
        return httpx.AsyncClient(base_url=self.url, headers=headers, timeout=30, trust_env=False, **kwargs)


def _surroundings() -> dict[str, str]:
    """This process's environment without what would configure the server."""
    return {name: value for name, value in os.environ.items() if not name.startswith("AGENT_MEMORY_")}


def _cpu_s(pid: int) -> float:
    """Processor seconds a process has used; 0 where there is no /proc."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
