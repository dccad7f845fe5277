"""Measures a real server at several sizes: latency through MCP and REST, throughput, start and memory.

    make bench                      1,000, 10,000 and 100,000 records
    make bench BENCH="--sizes 1000 --encoder"
    make bench BENCH="--vectors --sizes 10000 100000"

Without --encoder vectors are off: the figures are those of the core. With --vectors every record has one, and only
searches are measured. Everything runs on this machine, the clients too,
so they share its cores with the server.
"""

import argparse
import re
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

import vectors
from rich.console import Console
from rich.table import Table
from servers import Running, running, seed
from texts import Text, Writer
from wires import Front, Line, Rate, rate, sdk_round_trip_ms

SIZES = (1_000, 10_000, 100_000)
WARM_CALLS = 30
SEARCHES = 400
STORES = 200
CLIENTS = 8
BUSY_S = 4.0
BUSY_CALLS_MAX = 20_000  # prepared for each client; more than it gets through
LIKE_A_SECRET = re.compile(
    r"--\w+-(token|secret) "
)  # `--xy-token abc-123`, one text in some 10,000: the screen refuses it


@dataclass(frozen=True)
class Spread:
    """Milliseconds."""

    median: float
    p95: float

    def __str__(self) -> str:
        return f"{self.median:.1f} / {self.p95:.1f}"


@dataclass(frozen=True)
class Figures:
    records: int
    seed_s: float
    ready_s: float
    start_mib: float
    end_mib: float
    search_mcp: Spread
    search_rest: Spread
    store_mcp: Spread
    store_rest: Spread
    sdk_ms: float
    searches_mcp: Rate
    searches_rest: Rate
    stores_mcp: Rate
    stores_rest: Rate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="N")
    parser.add_argument("--encoder", action="store_true", help="leave the embedded encoder on")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the seeded folders here and use them again")
    parser.add_argument("--vectors", action="store_true", help="searches by meaning: every record has a vector")
    given = parser.parse_args()
    console = Console(width=max(Console().width, 100))
    found: list[Figures] = []
    by_meaning: list[vectors.VectorFigures] = []
    for size in given.sizes:
        console.print(f"{size:,} records ...", style="dim")
        if given.vectors:
            by_meaning.append(measure_vectors(size, given.keep))
        else:
            found.append(measure(size, encoder=given.encoder, keep=given.keep))
    console.print(vectors.table(by_meaning) if given.vectors else table(found))
    console.print("command: " + " ".join(["python", *sys.argv]))


def measure(size: int, *, encoder: bool, keep: Path | None) -> Figures:
    """All figures at one size, on a folder made for it."""
    with tempfile.TemporaryDirectory(prefix="agent-memory-bench-") as scratch:
        folder = Path(scratch) / "data"
        seed_s = prepare(folder, size, keep)
        with running(folder, encoder=encoder) as server:
            return figures(server, size, seed_s)


def measure_vectors(size: int, keep: Path | None) -> vectors.VectorFigures:
    """The figures of searches by meaning, on a folder made for it."""
    with tempfile.TemporaryDirectory(prefix="agent-memory-bench-") as scratch:
        folder = Path(scratch) / "data"
        prepare(folder, size, keep, with_vectors=True)
        return vectors.measure(folder, size)


def prepare(folder: Path, size: int, keep: Path | None, *, with_vectors: bool = False) -> float:
    """A folder with that many records. Returns: seconds that writing them took, 0 when they were kept from before."""
    kept = keep / f"{'vectors' if with_vectors else 'records'}-{size}" if keep else None
    if kept and kept.exists():
        shutil.copytree(kept, folder)
        return 0.0
    took = seed(folder, size, vectors=with_vectors)
    if kept:
        shutil.copytree(folder, kept)
    return took


def figures(server: Running, size: int, seed_s: float) -> Figures:
    start_mib = server.resident_mib()
    writer = Writer(seed=2)
    latencies(server, "mcp", "search", searches(writer, WARM_CALLS))
    search_mcp = latencies(server, "mcp", "search", searches(writer, SEARCHES))
    search_rest = latencies(server, "rest", "search", searches(writer, SEARCHES))
    sdk_ms = sdk_round_trip_ms(server, "search", next(iter(searches(writer, 1))))
    busy = [list(searches(writer, BUSY_CALLS_MAX // CLIENTS)) for _ in range(CLIENTS)]
    searches_mcp = rate(server, "mcp", "search", busy, BUSY_S)
    searches_rest = rate(server, "rest", "search", busy, BUSY_S)
    end_mib = server.resident_mib()
    store_mcp = latencies(server, "mcp", "store", stores(writer, STORES))
    store_rest = latencies(server, "rest", "store", stores(writer, STORES))
    stores_mcp = rate(server, "mcp", "store", store_lists(writer), BUSY_S)
    stores_rest = rate(server, "rest", "store", store_lists(writer), BUSY_S)
    return Figures(
        size, seed_s, server.ready_s, start_mib, end_mib, search_mcp, search_rest, store_mcp, store_rest, sdk_ms,
        searches_mcp, searches_rest, stores_mcp, stores_rest,
    )  # fmt: skip


def searches(writer: Writer, count: int) -> Iterable[dict[str, Any]]:
    return ({"query": writer.query(), "namespace": Writer.HOME} for _ in range(count))


def stores(writer: Writer, count: int) -> Iterable[dict[str, Any]]:
    texts = (writer.text() for _ in range(count))
    return (as_arguments(text) for text in texts if not LIKE_A_SECRET.search(text.content))


def store_lists(writer: Writer) -> list[list[dict[str, Any]]]:
    return [list(stores(writer, BUSY_CALLS_MAX // CLIENTS)) for _ in range(CLIENTS)]


def as_arguments(text: Text) -> dict[str, Any]:
    return {
        "namespace": text.namespace,
        "type": text.type,
        "title": text.title,
        "content": text.content,
        "tags": list(text.tags),
    }


def latencies(server: Running, front: Front, tool: str, calls: Iterable[dict[str, Any]]) -> Spread:
    taken = []
    with closing(Line(server, front)) as line:
        for arguments in calls:
            body = line.body(tool, arguments)
            started = time.perf_counter()
            line.post(tool, body)
            taken.append((time.perf_counter() - started) * 1000)
    return Spread(statistics.median(taken), statistics.quantiles(taken, n=20)[-1])


def table(found: list[Figures]) -> Table:
    shown = Table(
        title=f"one client: median / 95th percentile in ms; {CLIENTS} clients: calls per second (server CPU ms each)"
    )
    shown.add_column("")
    for each in found:
        shown.add_column(f"{each.records:,}", justify="right")
    rows: list[tuple[str, Any]] = [
        ("search, MCP", lambda f: str(f.search_mcp)),
        ("search, REST", lambda f: str(f.search_rest)),
        ("search, MCP SDK client, one call", lambda f: f"{f.sdk_ms:.1f}"),
        ("store, MCP", lambda f: str(f.store_mcp)),
        ("store, REST", lambda f: str(f.store_rest)),
        (f"searches/s, MCP, {CLIENTS} clients", lambda f: str(f.searches_mcp)),
        (f"searches/s, REST, {CLIENTS} clients", lambda f: str(f.searches_rest)),
        (f"stores/s, MCP, {CLIENTS} clients", lambda f: str(f.stores_mcp)),
        (f"stores/s, REST, {CLIENTS} clients", lambda f: str(f.stores_rest)),
        ("start to ready, s", lambda f: f"{f.ready_s:.2f}"),
        ("resident at start, MiB", lambda f: f"{f.start_mib:.0f}"),
        ("resident after searches, MiB", lambda f: f"{f.end_mib:.0f}"),
    ]
    for name, show in rows:
        shown.add_row(name, *(show(each) for each in found))
    return shown


if __name__ == "__main__":
    main()
