"""Taking records out in their portable form, and the import that puts them back or takes them in as candidates."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any, Final, Literal

import apsw
from apsw import Connection
from pydantic import Field

from agent_memory.domain import namespaces
from agent_memory.domain.errors import InvalidArgument, SecretRefused
from agent_memory.domain.records import Draft, new_id, stamp
from agent_memory.store import anchors, audit, records, transfer
from agent_memory.store.transfer import Portable
from agent_memory.store.worker import Store
from agent_memory.tools.portable import PortableRecord, portable, read_line
from agent_memory.tools.registry import Arguments, Call, Result, tool
from agent_memory.tools.writing import full_id

PAGE_RECORDS: Final = 200
PAGE_BYTES: Final = 256 * 1024
BATCH_LINES: Final = 200  # lines that share a commit
LINE_MAX_BYTES: Final = 1024 * 1024

Line = tuple[Draft, list[tuple[str, str]]] | Portable


class ExportArguments(Arguments):
    namespace: str | None = None
    cursor: str | None = None


class ExportResult(Result):
    records: list[PortableRecord]
    next_cursor: str | None = Field(default=None, description="Pass as cursor for the next page.")


@tool("export", read_only=True)
async def memory_export(call: Call, args: ExportArguments) -> ExportResult:
    """Page through all records of a namespace, or of all, in portable form for `agent-memory import`."""
    namespace = None if args.namespace is None else namespaces.validate(args.namespace)
    after = "" if args.cursor is None else full_id("cursor", args.cursor)

    def work(conn: Connection) -> list[Portable]:
        return transfer.page(conn, namespace=namespace, after=after, limit=PAGE_RECORDS + 1)

    found = [portable(each) for each in await call.services.store.read(work)]
    fitting: list[PortableRecord] = []
    size = 0
    for each in found[:PAGE_RECORDS]:
        size += len(each.line().encode())
        if fitting and size > PAGE_BYTES:
            break
        fitting.append(each)
    more = len(fitting) < len(found)
    return ExportResult(records=fitting, next_cursor=fitting[-1].id if more else None, truncated=more)


def export_lines(conn: Connection, namespace: str | None) -> Iterator[str]:
    """Every record as a line, by id, as of one moment: the transaction lasts until the last line is taken.

    Raises: InvalidArgument: a bad namespace.
    """
    wanted = None if namespace is None else namespaces.validate(namespace)
    with conn:
        after = ""
        while found := transfer.page(conn, namespace=wanted, after=after, limit=PAGE_RECORDS):
            for each in found:
                yield portable(each).line()
            after = found[-1].record.id


@dataclass(frozen=True, slots=True)
class Remark:
    """A line of which something must be said; never what stands in it."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one line; `why` is said of kept and refused ones."""

    kind: Literal["restored", "candidate", "skipped", "kept", "refused"]
    why: str = ""


@dataclass(slots=True)
class ImportReport:
    """What became of the lines: counts, and a remark for each that was refused or left the store's own as it is."""

    restored: int = 0
    candidates: int = 0
    skipped: int = 0
    kept: list[Remark] = field(default_factory=list)
    refused: list[Remark] = field(default_factory=list)


async def import_lines(
    store: Store,
    lines: Iterable[bytes],
    *,
    client: str,
    now: Callable[[], datetime],
    entropy: Callable[[int], bytes],
) -> ImportReport:
    """Take in lines of JSON, one record each; blank lines are passed over.

    A whole record is put back as it was. If its id is there already, the store's own stays: the same one is skipped,
    a different one is remarked, and so is one that was forgotten here, even if it is erased by now. A line without id
    becomes a candidate, unless a live record says the same. Each line is taken whole or not at all; stopped in between,
    the same import can be run again.

    Args: client: the name in the audit and the writer of candidates.
    """
    report = ImportReport()
    numbered = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    while batch := list(islice(numbered, BATCH_LINES)):
        checked = [(number, item) for number, line in batch if (item := _checked(number, line, report)) is not None]

        def work(conn: Connection, checked: list[tuple[int, Line]] = checked) -> list[tuple[int, Outcome]]:
            taker = _Taker(conn, client, now, entropy)
            return [(number, taker.take(item)) for number, item in checked]

        for number, outcome in await store.write(work):
            _count(report, number, outcome)
    report.refused.sort(key=lambda remark: remark.line)
    return report


def _checked(number: int, line: bytes, report: ImportReport) -> Line | None:
    try:
        if len(line) > LINE_MAX_BYTES:
            raise InvalidArgument("line", f"has over {LINE_MAX_BYTES} bytes")
        return read_line(line.decode("utf-8-sig" if number == 1 else "utf-8"))
    except UnicodeDecodeError:
        report.refused.append(Remark(number, "is not UTF-8"))
    except SecretRefused as refusal:
        report.refused.append(Remark(number, f"{refusal.field} was refused by the screen (pattern {refusal.pattern})"))
    except InvalidArgument as refusal:
        report.refused.append(Remark(number, str(refusal)))
    return None


class _Taker:
    """Takes one line after the other inside a transaction, each in a savepoint of its own."""

    def __init__(
        self, conn: Connection, client: str, now: Callable[[], datetime], entropy: Callable[[int], bytes]
    ) -> None:
        self._conn = conn
        self._client = client
        self._now = now
        self._entropy = entropy

    def take(self, item: Line) -> Outcome:
        """Take one line in, or say why not."""
        try:
            with self._conn:
                outcome = self._restore(item) if isinstance(item, Portable) else self._add(*item)
        except SecretRefused as refusal:  # the guard on statements knows a pattern that the fields did not show
            return Outcome("refused", f"{refusal.field} was refused by the screen (pattern {refusal.pattern})")
        except apsw.ConstraintError:
            return Outcome("refused", "contradicts itself or the records that are there")
        return outcome

    def _restore(self, given: Portable) -> Outcome:
        there = transfer.find(self._conn, given.record.id)
        if there is None and audit.was_forgotten(self._conn, given.record.id):
            return Outcome("kept", f"{given.record.id} was forgotten and erased here and stays so")
        if there is not None:
            if there.record.status == "deleted":
                return Outcome("kept", f"{given.record.id} was forgotten here and stays so")
            if portable(there) == portable(given):
                return Outcome("skipped")
            return Outcome(
                "kept",
                f"{given.record.id} is here at revision {there.record.revision} and differs from the line's"
                f" (revision {given.record.revision})",
            )
        transfer.put_back(self._conn, given)
        self._note(given.record.id, given.record.namespace, "record")
        return Outcome("restored")

    def _add(self, checked: Draft, ties: list[tuple[str, str]]) -> Outcome:
        if transfer.holds_text(
            self._conn,
            namespace=checked.namespace,
            record_type=checked.type,
            title=checked.title,
            content=checked.content,
        ):
            return Outcome("skipped")
        now = self._now()
        record = records.store_candidate(
            self._conn,
            checked,
            record_id=new_id(now, self._entropy(10)),
            writer=self._client,
            origin="import",
            now=stamp(now),
        )
        anchors.replace(self._conn, record.id, ties)
        self._note(record.id, record.namespace, "candidate")
        return Outcome("candidate")

    def _note(self, record_id: str, namespace: str, kind: str) -> None:
        audit.note(
            self._conn,
            at=stamp(self._now()),
            client=self._client,
            action="import",
            record_id=record_id,
            namespace=namespace,
            context={"as": kind},
        )


def _count(report: ImportReport, number: int, outcome: Outcome) -> None:
    match outcome.kind:
        case "restored":
            report.restored += 1
        case "candidate":
            report.candidates += 1
        case "skipped":
            report.skipped += 1
        case "kept":
            report.kept.append(Remark(number, outcome.why))
        case "refused":
            report.refused.append(Remark(number, outcome.why))


TOOLS: tuple[Any, ...] = (memory_export,)
