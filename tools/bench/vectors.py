"""Searches by meaning: every record has a stored vector, and the embedded encoder reads the queries.

Called by `bench.py --vectors`. The vectors are random, so the hits mean nothing; what they cost is the same.
"""

import json
import statistics
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table
from servers import running
from texts import Writer
from wires import Line

SEARCHES = 300
LOAD_MAX_S = 600.0


@dataclass(frozen=True)
class VectorFigures:
    """Milliseconds through MCP, one client; MiB of resident memory."""

    records: int
    ready_s: float
    loaded_s: float
    loading: list[float]
    new: list[float]
    cached: list[float]
    anew: list[float]
    start_mib: float
    end_mib: float


def measure(folder: Path, size: int) -> VectorFigures:
    """All figures of one folder, whose records have their vectors."""
    with running(folder, encoder=True) as server, closing(Line(server, "mcp")) as line:
        start_mib = server.resident_mib()
        writer = Writer(seed=3)
        loading, loaded_s = until_loaded(line, writer)
        for _ in range(20):
            search(line, writer.query())
        queries = [writer.query() for _ in range(SEARCHES)]
        new = [search(line, query)[0] for query in queries]
        cached = [search(line, query)[0] for query in queries]
        end_mib = server.resident_mib()
        anew = []
        for query in queries:
            retag(line)
            anew.append(search(line, query)[0])
        return VectorFigures(size, server.ready_s, loaded_s, loading, new, cached, anew, start_mib, end_mib)


def until_loaded(line: Line, writer: Writer) -> tuple[list[float], float]:
    """Search until vectors answer. Returns: what each search took by then, and how long that was."""
    begun, taken = time.perf_counter(), []
    while time.perf_counter() - begun < LOAD_MAX_S:
        took, ranking = search(line, writer.query())
        if ranking == "score":
            return taken or [took], time.perf_counter() - begun
        taken.append(took)
        time.sleep(0.05)
    raise SystemExit("the vectors were not loaded in time")


def search(line: Line, query: str) -> tuple[float, str]:
    """One search. Returns: milliseconds, and the ranking that answered."""
    body = line.body("search", {"query": query, "namespace": Writer.HOME})
    started = time.perf_counter()
    answer = line.post("search", body)
    took = (time.perf_counter() - started) * 1000
    return took, result_of(answer)["ranking"]


def retag(line: Line) -> None:
    """Change the newest record, but not its vector: rankings that the server remembers hold no longer."""
    (newest,) = call(line, "timeline", {"namespace": Writer.HOME, "limit": 1})["records"]
    tags = ["bench", str(newest["revision"])]
    call(line, "update", {"id": newest["id"], "revision": newest["revision"], "changes": {"tags": tags}})


def call(line: Line, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return result_of(line.post(tool, line.body(tool, arguments)))


def result_of(answer: bytes) -> dict[str, Any]:
    text = json.loads(answer)["result"]["content"][0]["text"]
    return dict(json.loads(text))


def table(found: list[VectorFigures]) -> Table:
    shown = Table(title="searches by meaning through MCP, one client: median / 95th percentile in ms")
    shown.add_column("")
    for each in found:
        shown.add_column(f"{each.records:,}", justify="right")
    rows: list[tuple[str, Any]] = [
        ("search, new query", lambda f: spread(f.new)),
        ("search, query vector cached", lambda f: spread(f.cached)),
        ("the same, a record changed since", lambda f: spread(f.anew)),
        (
            "search while loading (median / slowest)",
            lambda f: slowest(f.loading),
        ),
        ("start to ready, s", lambda f: f"{f.ready_s:.2f}"),
        ("ready to vectors answering, s", lambda f: f"{f.loaded_s:.1f}"),
        ("resident at start, MiB", lambda f: f"{f.start_mib:.0f}"),
        ("resident after searches, MiB", lambda f: f"{f.end_mib:.0f}"),
    ]
    for name, show in rows:
        shown.add_row(name, *(show(each) for each in found))
    return shown


def spread(taken: list[float]) -> str:
    return f"{statistics.median(taken):.1f} / {statistics.quantiles(taken, n=20)[-1]:.1f}"


def slowest(taken: list[float]) -> str:
    return f"{statistics.median(taken):.1f} / {max(taken):.0f}"
