"""The list of records as a value, and what it reads from the store."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from apsw import Connection

from agent_memory.domain.records import TYPES
from agent_memory.store import browse, records, statistics
from agent_memory.store.browse import ListedRecord
from agent_memory.tools.finding import BM25_WEIGHTS
from agent_memory.web.page import wording
from agent_memory.web.page.listing import PAGE_RECORDS, STATUSES, Listing

NAMESPACES_OFFERED: Final = 200  # in the form's suggestions
_ID: Final = re.compile(r"[0-9a-f]{8,32}")


@dataclass(frozen=True, slots=True)
class Line:
    """A record as a line: its title and where it stands; `trust` is its earned confidence, `evidence` who spoke up."""

    id: str
    title: str
    namespace: str
    type: str
    status: str
    writer: str
    updated: str
    ago: str
    trust: str
    evidence: str


@dataclass(frozen=True, slots=True)
class RecordsView:
    """A page of the list.

    Fields:
      listing: what it is narrowed to.
      lines: newest first, or best first when words were given.
      count: a sentence that says how many there are.
      next, previous: query strings of the neighbouring pages, None at an end; previous leads to the first page.
      namespaces: suggestions for the form. statuses, types: the choices of the form.
    """

    listing: Listing
    lines: tuple[Line, ...]
    count: str
    next: str | None
    previous: str | None
    namespaces: tuple[str, ...]
    statuses: tuple[str, ...] = tuple(STATUSES)
    types: tuple[str, ...] = TYPES


def read(conn: Connection, listing: Listing, *, match: str, now: datetime) -> RecordsView:
    """Read a page of the list.

    Args: match: the list's words as a full-text expression.
    """
    counts = statistics.record_counts(conn)
    names = tuple(dict.fromkeys(count.namespace for count in counts))[:NAMESPACES_OFFERED]
    if listing.text:
        every, complete = _by_words(conn, listing, match)
        found = every[listing.start : listing.start + PAGE_RECORDS + 1]
        count = "the best matches first" if every else "no such record holds these words"
        if "superseded" in STATUSES[listing.status]:
            count += ", then superseded records with all the words" if every else ""
            count += "" if complete else "; of those the newest were looked at"
        following = listing.at(listing.start + PAGE_RECORDS)
    else:
        found = browse.newest(conn, listing.filters, before=listing.start or None, limit=PAGE_RECORDS + 1)
        total = sum(
            each.records
            for each in counts
            if each.status in STATUSES[listing.status]
            and listing.namespace in ("", each.namespace)
            and listing.type in ("", each.type)
        )
        count = f"{wording.count(total, 'record')}, newest first"
        following = listing.at(found[PAGE_RECORDS - 1].seq if len(found) > PAGE_RECORDS else 0)
    return RecordsView(
        listing=listing,
        lines=tuple(line(row, now) for row in found[:PAGE_RECORDS]),
        count=count,
        next=following.query() if len(found) > PAGE_RECORDS else None,
        previous=listing.at(0).query() if listing.start else None,
        namespaces=names,
    )


def line(row: ListedRecord, now: datetime) -> Line:
    """A stored line as the page shows it."""
    spoken = row.proof_count or row.refutation_count
    return Line(
        id=row.id,
        title=row.title,
        namespace=row.namespace,
        type=row.type,
        status=row.status,
        writer=row.writer,
        updated=wording.moment(row.updated_at, now),
        ago=wording.ago(row.updated_at, now),
        trust=wording.share(row.effective_confidence),
        evidence=f"{row.proof_count} for, {row.refutation_count} against" if spoken else "",
    )


def _by_words(conn: Connection, listing: Listing, match: str) -> tuple[list[ListedRecord], bool]:
    """Matches by words, superseded ones last; what looks like an id or the start of one finds that record first.

    Returns: the matches, and whether every superseded record was looked at.
    """
    plain = listing.text.lower().replace("-", "")
    named = []
    if _ID.fullmatch(plain):
        named = browse.lines(conn, [record.id for record in records.matches(conn, plain, None)])
    found = browse.matching(conn, match, listing.filters, weights=BM25_WEIGHTS)
    old, complete = browse.superseded_holding(conn, listing.text.split(), listing.filters)
    return list({row.id: row for row in (*named, *found, *old)}.values()), complete
