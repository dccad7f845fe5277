"""A random walk over every way a record changes: the index, the counts and the followers stay true at each step."""

import random
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import apsw
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from agent_memory.domain.namespaces import Scopes
from agent_memory.domain.records import Draft, new_id, stamp
from agent_memory.retrieval.query import fts_query, query_terms
from agent_memory.store import anchors, changes, evidence, records, search
from agent_memory.store.connection import DATABASE, close_database, open_database
from agent_memory.store.evidence import Observation
from agent_memory.store.migrations import migrate
from agent_memory.store.records import Changes
from agent_memory.store.search import Filters
from agent_memory.store.worker import commit_group
from support.world import ELSEWHERE, HERE, Ticking

WORDS = ("cache", "importer", "POL-358", "缓存大小", "Größe", "camelCaseName", "rate_limit", "don't", "😀", "한국어")
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
namespaces = st.sampled_from((HERE, ELSEWHERE))


class RecordsWalk(RuleBasedStateMachine):
    """`model` holds what each record should be: (namespace, status, title, content)."""

    ids = Bundle("ids")

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        path = Path(self._folder.name) / DATABASE
        self.clock, self.dice = Ticking(), random.Random(0)
        self.conn = open_database(path).connection
        migrate(self.conn, path, now=self.clock())
        changes.watch(self.conn)
        self.model: dict[str, tuple[str, str, str, str]] = {}
        self.live: dict[str, bool] = {}

    def teardown(self) -> None:
        close_database(self.conn)
        self._folder.cleanup()

    def write(self, work: Any) -> Any:
        (result,) = commit_group(self.conn, [work])
        for changed in changes.take(self.conn):
            assert changed.was_live == self.live.get(changed.id, False)
            self.live[changed.id] = changed.live
        return result.unwrap()

    def now(self) -> str:
        return stamp(self.clock())

    @rule(target=ids, namespace=namespaces, title=texts, content=texts, active=st.booleans())
    def insert(self, namespace: str, title: str, content: str, active: bool) -> str:
        record_id, status = new_id(self.clock(), self.dice.randbytes(10)), "active" if active else "candidate"
        draft, now = Draft(namespace, "fact", title, content), self.now()
        args: dict[str, Any] = {"record_id": record_id, "status": status, "writer": "t", "origin": "agent", "now": now}
        self.write(lambda conn: records.insert(conn, draft, **args))
        self.write(lambda conn: anchors.replace(conn, record_id, [("host", "host:db.lan")]))
        self.model[record_id] = (namespace, status, title, content)
        return record_id

    @rule(record_id=ids, title=texts, content=st.none() | texts, status=st.sampled_from((None, "active", "candidate")))
    def update(self, record_id: str, title: str, content: str | None, status: str | None) -> None:
        namespace, before, _, old_content = self.model.get(record_id, ("", "deleted", "", ""))
        if before not in ("active", "candidate"):
            return
        record, now = records.live(self.conn, record_id), self.now()
        self.write(lambda conn: records.update(conn, record, Changes(title, content, status=status), now=now))
        self.model[record_id] = (namespace, status or before, title, old_content if content is None else content)

    @rule(old=ids, new=ids)
    def supersede(self, old: str, new: str) -> None:
        before, after = self.model.get(old), self.model.get(new)
        if before is None or after is None or old == new or (before[1], after[1]) != ("active", "active"):
            return
        if before[0] != after[0]:
            return
        replacement, now = records.live(self.conn, new), self.now()
        self.write(lambda conn: records.supersede(conn, old, replacement, now=now))
        self.model[old] = (before[0], "superseded", *before[2:])

    @rule(record_id=ids, stance=st.sampled_from(("corroborates", "contradicts")), witness=st.sampled_from("abc"))
    def observe(self, record_id: str, stance: str, witness: str) -> None:
        if self.model.get(record_id, ("", "deleted"))[1] in ("active", "candidate"):
            seen = Observation(self.now(), "witness", witness, stance, "seen")
            self.write(lambda conn: evidence.observe(conn, record_id, seen))

    @rule(record_id=ids)
    def forget(self, record_id: str) -> None:
        if self.model.get(record_id, ("", "deleted"))[1] != "deleted":
            record, now = records.readable(self.conn, record_id), self.now()
            self.write(lambda conn: records.forget(conn, record, now=now))
            namespace, _, title, content = self.model[record_id]
            self.model[record_id] = (namespace, "deleted", title, content)

    @rule(record_id=consumes(ids))
    def erase(self, record_id: str) -> None:
        self.write(lambda conn: records.erase(conn, [record_id]))
        self.model.pop(record_id, None)

    @rule(record_id=ids)
    def fail(self, record_id: str) -> None:
        """A unit that fails after it wrote leaves nothing."""

        def work(conn: apsw.Connection) -> None:
            conn.execute("UPDATE records SET title = 'half', content = 'half', terms = '' WHERE id = ?", (record_id,))
            raise RuntimeError("on purpose")

        try:
            self.write(work)
        except RuntimeError:
            return
        raise AssertionError("the unit did not fail")

    @rule(namespace=namespaces)
    def rename(self, namespace: str) -> None:
        other = ELSEWHERE if namespace == HERE else HERE
        now = self.now()
        self.write(lambda conn: records.rename_namespaces(conn, {namespace: other}, now=now))
        self.model = {
            key: (other if value[0] == namespace else value[0], *value[1:]) for key, value in self.model.items()
        }

    @invariant()
    def the_index_is_whole(self) -> None:
        # Not with rank 1, which compares with every row of `records`: the index holds the live ones alone.
        self.conn.execute("INSERT INTO records_fts (records_fts) VALUES ('integrity-check')")
        indexed = {row[0] for row in self.conn.execute("SELECT id FROM records_fts_docsize")}
        alive = self.conn.execute("SELECT seq FROM records WHERE status IN ('active', 'candidate')")
        assert indexed == {row[0] for row in alive}

    @invariant()
    def search_finds_exactly_the_live_records_of_its_namespace(self) -> None:
        for namespace in (HERE, ELSEWHERE):
            for word in WORDS:
                terms = query_terms(word)
                if not terms:
                    continue
                scopes, match = Scopes((namespace,), False), fts_query(terms[:1])
                look_up = partial(
                    search.full_text, self.conn, match, scopes=scopes, filters=Filters(), weights=(2, 1, 1)
                )
                hits = look_up(limit=500, share=0.0)
                for share in (0.3, 1.0):  # however wrong: it steers how records are looked for
                    assert [look_up(limit=limit, share=share) for limit in (1, 500)] == [hits[:1], hits]
                found = {facts.id for facts, _ in hits}
                wanted = {
                    key
                    for key, (place, status, title, content) in self.model.items()
                    if place == namespace and status in ("active", "candidate") and word in f"{title} {content}"
                }
                assert wanted <= found, word
                assert {self.model[record_id][0] for record_id in found} <= {namespace}

    @invariant()
    def the_followers_know_what_lives(self) -> None:
        alive = {key for key, value in self.model.items() if value[1] in ("active", "candidate")}
        assert {key for key, live in self.live.items() if live} == alive
        assert not self.conn.in_transaction


TestRecordsWalk = RecordsWalk.TestCase
TestRecordsWalk.settings = settings(max_examples=15, stateful_step_count=25, deadline=None)
