"""A real server process on a folder of its own, seeded before it starts."""

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from texts import Writer

from agent_memory.domain.clients import token_digest
from agent_memory.domain.records import draft, new_id, stamp
from agent_memory.encoder.embedded import EmbeddedEncoder
from agent_memory.encoder.index import unit_vector
from agent_memory.encoder.textmodel import DEFAULT
from agent_memory.store import embeddings, records
from agent_memory.store.connection import DATABASE, close_database, locked_folder, open_database
from agent_memory.store.embeddings import Embedding
from agent_memory.store.migrations import migrate

SEED_BATCH = 5_000
READY_MAX_S = 60.0
STOP_MAX_S = 20.0


@dataclass(frozen=True)
class Running:
    host: str
    port: int
    token: str
    pid: int
    ready_s: float

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    def cpu_s(self) -> float:
        """Processor time the process has used (Linux). Unlike a latency it holds on a busy machine too."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident_mib(self) -> float:
        """Resident memory of the process now (Linux)."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        return float("nan")


def seed(folder: Path, count: int, *, vectors: bool = False) -> float:
    """Write that many records straight into the store, unsynced, a second apart.

    Args: vectors: give each a random vector of the embedded encoder, current for its text, so that none is made.
    Returns: seconds it took.
    """
    started = time.perf_counter()
    writer = Writer(seed=1)
    direction = np.random.default_rng(1)
    encoder = EmbeddedEncoder()  # loads nothing: it names model and digests
    with locked_folder(folder):
        connection = open_database(folder / DATABASE).connection
        migrate(connection, folder / DATABASE, now=datetime.now(UTC))
        connection.pragma("synchronous", 0)
        moment = datetime.now(UTC) - timedelta(seconds=count)
        for first in range(0, count, SEED_BATCH):
            with connection:
                for _ in range(min(SEED_BATCH, count - first)):
                    text = writer.text()
                    moment += timedelta(seconds=1)
                    record = records.insert(
                        connection,
                        draft(
                            namespace=text.namespace,
                            record_type=text.type,
                            title=text.title,
                            content=text.content,
                            tags=text.tags,
                        ),
                        record_id=new_id(moment, secrets.token_bytes(10)),
                        status="active",
                        writer="bench",
                        origin="agent",
                        now=stamp(moment),
                    )
                    if vectors:
                        vector = unit_vector(direction.standard_normal(DEFAULT.width), DEFAULT.width).tobytes()
                        digest = encoder.digest(encoder.record_text(record.title, record.content))
                        made = Embedding(record.id, encoder.model, digest, vector)
                        embeddings.keep(connection, [(made, record.title, record.content)])
        close_database(connection)
    return time.perf_counter() - started


@contextmanager
def running(folder: Path, *, encoder: bool) -> Iterator[Running]:
    """Start the server as a person does, and stop it with SIGTERM."""
    token, port = secrets.token_urlsafe(24), _free_port()
    client = {"name": "bench", "scopes": ["read", "write"], "token_sha256": token_digest(token)}
    options = {"clients": [client], **({} if encoder else {"embed_url": "off"})}
    (folder / "options.json").write_text(json.dumps(options))
    command = [
        sys.executable,
        "-m",
        "agent_memory",
        "serve",
        "--data",
        str(folder),
        "--port",
        str(port),
        "--page-port",
        "0",
    ]
    with (folder / "server.log").open("wb") as log:
        started = time.perf_counter()
        process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, "OMP_NUM_THREADS": "2"})
        try:
            _wait(f"http://127.0.0.1:{port}/healthz", process)
            yield Running("127.0.0.1", port, token, process.pid, time.perf_counter() - started)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(STOP_MAX_S)


def _wait(url: str, process: "subprocess.Popen[bytes]") -> None:
    limit = time.monotonic() + READY_MAX_S
    while time.monotonic() < limit and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=1):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.005)
    raise SystemExit(f"the server did not become ready: {process.args}")


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])
