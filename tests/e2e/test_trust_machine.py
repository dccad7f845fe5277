"""The memory against a model of it: writes of several clients in any order, with crashes and restarts between them.

Bounded for every run; AGENT_MEMORY_LONG=1 takes the long form.
"""

import os
import random
import shutil
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import pytest
import trio
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, precondition, rule

from agent_memory.domain.errors import (
    Conflict,
    Expired,
    InvalidArgument,
    RecordNotFound,
    RevisionConflict,
    ServiceError,
)
from agent_memory.domain.evidence import effective_confidence
from agent_memory.nursery.retention import purge_once
from agent_memory.store.scrub import due
from agent_memory.store.worker import Store
from support.world import ELSEWHERE, HERE, Ticking, World, open_world

RETENTION_DAYS = 30
PLACES = (HERE, ELSEWHERE)
CLIENTS = ("owner", "author")
ANCHORS = ("path:a.py", "host:nas", "url:https://example.org/a")
OP_IDS = tuple(f"close-000{number}" for number in range(3))
COMMON = "commonword"


class Server:
    """A whole server but its socket, in a thread of its own, so that a plain function can drive and kill it."""

    def __init__(self, folder: Path, clock: Ticking, dice: random.Random) -> None:
        self.folder, self._clock, self._dice = folder, clock, dice
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: trio.run(self._main))
        self._thread.start()
        assert self._ready.wait(20)
        assert hasattr(self, "world"), "the server did not start; its own traceback stands above"

    async def _main(self) -> None:
        self._token, self._stop = trio.lowlevel.current_trio_token(), trio.Event()
        try:
            async with trio.open_nursery() as nursery:
                with Store(self.folder, now=self._clock) as store:
                    await nursery.start(store.run)
                    async with open_world(store, summary_candidates=True, ollama_url="http://127.0.0.1:9") as world:
                        object.__setattr__(world.services, "now", self._clock)
                        object.__setattr__(world.services, "entropy", self._dice.randbytes)
                        self.world: World = world
                        self._ready.set()
                        await self._stop.wait()
        finally:
            self._ready.set()

    def run(self, work: Callable[[], Any]) -> Any:
        return trio.from_thread.run(work, trio_token=self._token)

    def stop(self) -> None:
        trio.from_thread.run_sync(self._stop.set, trio_token=self._token)
        self._thread.join(20)
        assert not self._thread.is_alive()

    def kill(self, folder: Path) -> None:
        """Leave in `folder` what a killed process leaves: the files as they are, with nothing closed or folded in."""
        folder.mkdir()
        for name in ("memory.db", "memory.db-wal", "options.json", "client_tokens.json"):
            if (self.folder / name).exists():
                shutil.copyfile(self.folder / name, folder / name)
        self.stop()


@dataclass
class Known:
    """What the model knows of a record."""

    namespace: str
    title: str
    confidence: float
    status: str = "active"
    revision: int = 1
    anchors: dict[str, str] = field(default_factory=dict)
    said: set[tuple[str, str]] = field(default_factory=set)
    swaps: int = 0
    successor: str | None = None
    forgotten_at: datetime | None = None

    @property
    def live(self) -> bool:
        return self.status in ("active", "candidate")

    @property
    def counts(self) -> tuple[int, int]:
        missing = sum(state == "missing" for state in self.anchors.values())
        proofs = sum(stance == "corroborates" for _, stance in self.said)
        return proofs, len(self.said) - proofs + missing


@dataclass
class Closed:
    """What the model knows of a receipt."""

    client: str
    inputs: tuple[str, str]
    result: dict[str, Any] | None
    at: datetime


class Memory(RuleBasedStateMachine):
    """Each rule does one thing to the server and to the model; the invariant compares all of both."""

    records = Bundle("records")

    @initialize()
    def begin(self) -> None:
        self.scratch = Path(tempfile.mkdtemp(prefix="agent-memory-machine-"))
        self.clock, self.dice = Ticking(), random.Random(1)
        self.generation = 0
        self.server = Server(self.scratch / "0", self.clock, self.dice)
        self.model: dict[str, Known] = {}
        self.receipts: dict[str, Closed] = {}
        self.jobs: dict[str, datetime] = {}  # when each queued, by its summary's record
        self.words = 0

    def teardown(self) -> None:
        if hasattr(self, "server"):
            self.server.stop()
            shutil.rmtree(self.scratch)

    # What a client does

    def call(self, tool: str, client: str, /, **arguments: Any) -> dict[str, Any]:
        found: dict[str, Any] = self.server.run(partial(self.server.world.call, tool, client, **arguments))
        return found

    def refused(self, error: type[ServiceError], tool: str, client: str, /, **arguments: Any) -> ServiceError:
        with pytest.raises(error) as caught:
            self.call(tool, client, **arguments)
        return caught.value

    def new_title(self) -> str:
        self.words += 1
        return f"{COMMON} unique{self.words}x"

    def keep(self, client: str, namespace: str, confidence: float, anchors: list[str], **more: Any) -> str:
        title = self.new_title()
        given = {"namespace": namespace, "title": title, "content": f"{title} said", "confidence": confidence}
        stored = self.call("store", client, type="fact", anchors=anchors, **given, **more)
        self.model[stored["id"]] = Known(namespace, title, confidence, anchors=dict.fromkeys(anchors, "unchecked"))
        return str(stored["id"])

    @rule(
        target=records,
        client=st.sampled_from(CLIENTS),
        namespace=st.sampled_from(PLACES),
        confidence=st.sampled_from([0.0, 0.3, 0.7, 1.0]),
        anchors=st.lists(st.sampled_from(ANCHORS), unique=True, min_size=1),
    )
    def store(self, client: str, namespace: str, confidence: float, anchors: list[str]) -> str:
        return self.keep(client, namespace, confidence, anchors)

    @rule(target=records, client=st.sampled_from(CLIENTS), old=records, elsewhere=st.booleans())
    def supersede(self, client: str, old: str, elsewhere: bool) -> str:
        known = self.model.get(old)
        place = known.namespace if known else HERE
        namespace = next(each for each in PLACES if (each == place) != elsewhere)
        if known is None or not known.live or known.status == "candidate" or elsewhere:
            error = Conflict if known is not None and known.live else RecordNotFound
            arguments = {"namespace": namespace, "type": "fact", "title": "never", "content": "never"}
            self.refused(error, "store", client, supersedes=old, **arguments)
            return old
        new = self.keep(client, namespace, 0.7, [], supersedes=old)
        known.status, known.successor = "superseded", new
        known.revision += 1
        return new

    @rule(
        client=st.sampled_from(CLIENTS),
        record=records,
        behind=st.sampled_from([0, 0, 0, 1, -1]),
        status=st.sampled_from([None, "active", "candidate"]),
        confidence=st.sampled_from([None, 0.5]),
        anchors=st.none() | st.lists(st.sampled_from(ANCHORS), unique=True),
        retitled=st.booleans(),
    )
    def update(
        self,
        client: str,
        record: str,
        behind: int,
        status: str | None,
        confidence: float | None,
        anchors: list[str] | None,
        retitled: bool,
    ) -> None:
        known = self.model.get(record)
        revision = (known.revision if known else 1) - behind
        title = self.new_title() if retitled else None
        given = {"status": status, "confidence": confidence, "anchors": anchors, "title": title}
        changes = {name: value for name, value in given.items() if value is not None}
        arguments = {"id": record, "revision": revision, "changes": changes}
        if not changes or revision < 1:
            self.refused(InvalidArgument, "update", client, **arguments)
        elif known is None or not known.live:
            self.refused(RecordNotFound, "update", client, **arguments)
        elif behind:
            conflict = self.refused(RevisionConflict, "update", client, **arguments)
            assert isinstance(conflict, RevisionConflict)
            assert conflict.revision == known.revision
        else:
            shown = self.call("update", client, **arguments)["record"]
            known.revision += 1
            known.status = status or known.status
            known.title = title or known.title
            known.confidence = known.confidence if confidence is None else confidence
            if anchors is not None:
                known.anchors = {anchor: known.anchors.get(anchor, "unchecked") for anchor in anchors}
            assert (shown["revision"], shown["status"]) == (known.revision, known.status)

    @rule(client=st.sampled_from(CLIENTS), record=records, stance=st.sampled_from(["corroborates", "contradicts"]))
    def corroborate(self, client: str, record: str, stance: str) -> None:
        known = self.model.get(record)
        if known is None or not known.live:
            self.refused(RecordNotFound, "corroborate", client, id=record, quote="seen", stance=stance)
            return
        result = self.call("corroborate", client, id=record, quote="seen", stance=stance)
        known.revision += (client, stance) not in known.said
        known.said.add((client, stance))
        assert (result["proof_count"], result["refutation_count"], result["revision"]) == (
            *known.counts,
            known.revision,
        )

    @rule(
        client=st.sampled_from(CLIENTS),
        reports=st.lists(
            st.tuples(records, st.sampled_from(ANCHORS), st.sampled_from(["ok", "missing", "unavailable"])),
            min_size=2,
            max_size=8,
        ),
    )
    def report(self, client: str, reports: list[tuple[str, str, str]]) -> None:
        sent = [{"id": record, "anchor": anchor, "state": state} for record, anchor, state in reports]
        result = self.call("anchor_report", client, reports=sent)
        refused = 0
        for record, anchor, state in reports:
            known = self.model.get(record)
            if known is None or not known.live or anchor not in known.anchors:
                refused += 1
            elif state not in ("unavailable", known.anchors[anchor]):
                known.swaps += known.anchors[anchor] != "unchecked"
                known.anchors[anchor] = state
                known.revision += 1
        assert len(result["refused"]) == refused
        assert result["applied"] + result["unchanged"] + refused == len(reports)

    @rule(client=st.sampled_from(CLIENTS), record=records)
    def forget(self, client: str, record: str) -> None:
        known = self.model.get(record)
        if known is None or known.status == "deleted":
            self.refused(RecordNotFound, "forget", client, id=record)
            return
        before = self.clock.now
        assert self.call("forget", client, id=record)["status"] == "deleted"
        known.status, known.forgotten_at = "deleted", before
        known.revision += 1

    @rule(record=consumes(records))
    def forget_hard(self, record: str) -> None:
        if record not in self.model:
            self.refused(RecordNotFound, "forget", "owner", id=record, hard=True)
            return
        self.call("forget", "owner", id=record, hard=True)
        del self.model[record]
        self.jobs.pop(record, None)  # it waits with the same text

    @rule(
        target=records,
        client=st.sampled_from(CLIENTS),
        op_id=st.sampled_from(OP_IDS),
        namespace=st.sampled_from(PLACES),
        summary=st.sampled_from(["one", "two"]),
    )
    def close(self, client: str, op_id: str, namespace: str, summary: str) -> str:
        arguments = {"namespace": namespace, "summary": f"{COMMON} {summary}", "op_id": op_id}
        kept, inputs = self.receipts.get(op_id), (namespace, summary)
        if kept is not None and (kept.client, kept.inputs) != (client, inputs):
            self.refused(Conflict, "session_close", client, **arguments)
            return "f" * 32
        if kept is not None and kept.result is None:
            self.refused(Expired, "session_close", client, **arguments)
            return "f" * 32
        before = self.clock.now
        result = self.call("session_close", client, **arguments)
        del result["estimated_tokens"]
        if kept is not None:
            assert result.pop("replayed") is True
            assert result == kept.result
            return "f" * 32
        self.receipts[op_id] = Closed(client, inputs, result, before)
        self.jobs[result["candidate_id"]] = before
        self.model[result["candidate_id"]] = Known(namespace, arguments["summary"], 0.7, "candidate")
        return str(result["candidate_id"])

    # What happens to the server

    @rule(days=st.sampled_from([1, 10, 29, 31]))
    def pass_days_and_purge(self, days: int) -> None:
        self.clock.now += timedelta(days=days)
        now = self.clock()
        self.server.run(partial(purge_once, self.server.world.store, days=RETENTION_DAYS, now=now))
        limit = (now - timedelta(days=RETENTION_DAYS)).replace(hour=0, minute=0, second=0, microsecond=0)
        for record in [each for each, known in self.model.items() if known.status == "deleted"]:
            forgotten_at = self.model[record].forgotten_at
            assert forgotten_at is not None
            if forgotten_at < limit:
                del self.model[record]
        self.jobs = {record: queued for record, queued in self.jobs.items() if queued >= limit}
        for kept in self.receipts.values():
            if kept.at < limit:
                kept.result = None
        assert self.server.run(partial(self.server.world.store.read, due)) is False

    def reopen(self, folder: Path) -> None:
        self.server = Server(folder, self.clock, self.dice)

    @precondition(lambda self: self.model)
    @rule()
    def crash(self) -> None:
        self.generation += 1
        folder = self.scratch / str(self.generation)
        self.server.kill(folder)
        self.reopen(folder)

    @precondition(lambda self: self.model)
    @rule()
    def restart(self) -> None:
        self.server.stop()
        self.reopen(self.server.folder)

    # What always holds

    @invariant()
    def the_server_is_as_the_model(self) -> None:
        if not hasattr(self, "model"):
            return
        rows = self.server.run(partial(self.server.world.store.read, read_all))
        assert {row[0] for row in rows.records} == set(self.model)
        for record, *found in rows.records:
            known = self.model[record]
            asserted = (known.namespace, known.status, known.revision, known.title, known.confidence, *known.counts)
            assert tuple(found[:7]) == asserted
            assert found[7] == pytest.approx(effective_confidence(known.confidence, *known.counts))
            assert known.status == "deleted" or found[8] == known.successor
            assert {anchor: state for each, anchor, state in rows.anchors if each == record} == known.anchors
            said = {
                (witness, stance)
                for each, source, witness, stance in rows.said
                if (each, source) == (record, "witness")
            }
            assert said == known.said
            assert sum((each, source) == (record, "anchor") for each, source, *_ in rows.said) == known.swaps
        assert rows.jobs == len(self.jobs)
        expected = {op_id: kept.result is not None for op_id, kept in self.receipts.items()}
        assert rows.receipts == expected
        self.server.run(partial(self.server.world.store.write, check_integrity))

    @invariant()
    def a_search_finds_the_live_records_and_no_others(self) -> None:
        for namespace in PLACES if hasattr(self, "model") else ():
            hits = self.call("search", "owner", query=COMMON, namespace=namespace, limit=50, recall=True)["hits"]
            live = {each for each, known in self.model.items() if known.live and known.namespace == namespace}
            assert {hit["id"] for hit in hits} == live
            revisions = {hit["id"]: hit["revision"] for hit in hits}
            assert revisions == {each: self.model[each].revision for each in live}


@dataclass
class Rows:
    records: list[tuple[Any, ...]]
    anchors: list[tuple[Any, ...]]
    said: list[tuple[Any, ...]]
    receipts: dict[str, bool]
    jobs: int


def read_all(conn: apsw.Connection) -> Rows:
    fields = "id, namespace, status, revision, title, confidence, proof_count, refutation_count, effective_confidence"
    return Rows(
        conn.execute(f"SELECT {fields}, superseded_by FROM records").fetchall(),
        conn.execute("SELECT record_id, anchor, state FROM anchors").fetchall(),
        conn.execute("SELECT record_id, source, witness, stance FROM observations").fetchall(),
        {str(op_id): bool(kept) for op_id, kept in conn.execute("SELECT op_id, result IS NOT NULL FROM receipts")},
        int(conn.execute("SELECT count(*) FROM jobs").get),
    )


def check_integrity(conn: apsw.Connection) -> None:
    conn.execute("INSERT INTO records_fts (records_fts) VALUES ('integrity-check')")
    assert conn.execute("PRAGMA foreign_key_check").fetchall() == []
    assert conn.execute("PRAGMA quick_check").get == "ok"


LONG = "AGENT_MEMORY_LONG" in os.environ
Memory.TestCase.settings = settings(
    max_examples=400 if LONG else 16,
    stateful_step_count=60 if LONG else 30,
    # Shrinking a failure takes minutes of server starts: the long form is for that.
    phases=list(Phase) if LONG else [Phase.generate],
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
    database=None,
)
TestMemory = Memory.TestCase
