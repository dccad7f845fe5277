"""Screens what is already stored, once the rules have learnt something new. Reads only; a person decides what goes."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from apsw import Connection

from agent_memory.domain.screen import screen_text
from agent_memory.store.statement_screen import Composed, texts_in

# Table → (what names a row, columns that hold text from outside). A test holds that no such column is missing.
TEXTS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "records": ("id", ("namespace", "title", "content", "tags", "session", "writer", "model")),
    "observations": ("record_id", ("quote", "witness")),
    "anchors": ("record_id", ("anchor",)),
    "queries": ("seq", ("query", "namespace", "client")),
    "jobs": ("id", ("payload", "namespace", "client", "error")),
    "questions": ("id", ("question", "wording", "answer", "namespace", "client", "model")),
    "receipts": ("op_id", ("result", "client")),
    "audit": ("seq", ("context", "namespace", "client")),
}

# Of those, the ones that this program writes as JSON: judged as when they were written, by the texts inside.
COMPOSED: Final = {("records", "tags"), ("jobs", "payload"), ("receipts", "result"), ("audit", "context")}


@dataclass(frozen=True, slots=True)
class Stored:
    """A stored text that the screen refuses today: where it is, and the pattern. Never the text."""

    table: str
    row: str
    column: str
    pattern: str


def rescreen(conn: Connection) -> Iterator[Stored]:
    """Every stored text that would be refused now, table by table."""
    for table, (key, columns) in TEXTS.items():
        for row in conn.execute(f"SELECT {key}, {', '.join(columns)} FROM {table}"):
            for column, text in zip(columns, row[1:], strict=True):
                value = Composed(text) if text and (table, column) in COMPOSED else text
                for pattern in filter(None, map(screen_text, texts_in(value))):
                    yield Stored(table, str(row[0]), column, pattern)
                    break
