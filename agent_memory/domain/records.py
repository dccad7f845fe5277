"""The record: its types, states, limits and the checks on its fields."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from agent_memory.domain.errors import InvalidArgument

TYPES: Final = (
    "decision",
    "constraint",
    "requirement",
    "procedure",
    "preference",
    "fact",
    "failure",
    "open-work",
    "session-summary",
)
STATES: Final = ("active", "candidate", "superseded", "deleted")
LIVE: Final = ("active", "candidate")
ORIGINS: Final = ("agent", "extraction", "import", "summary")

TITLE_MAX_CHARS: Final = 200
CONTENT_MAX_BYTES: Final = 16 * 1024
TAGS_MAX: Final = 16
TAG_MAX_CHARS: Final = 64
ANCHORS_MAX: Final = 16
SESSION_MAX_CHARS: Final = 128
REASON_MAX_CHARS: Final = 500
ID_CHARS: Final = 32
ID_PREFIX_MIN_CHARS: Final = 8
ID_SETTLES: Final = timedelta(seconds=10)  # between the making of an id and the commit of its record, at most

_ID = re.compile(r"[0-9a-f]{8,32}")
# C0 controls other than tab and newline carry no meaning in prose and break terminals, logs and C strings.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Record:
    """One thing that was learnt, as stored.

    `confidence` is what the writer asserted, `effective_confidence` what evidence and anchors have made of it; both in
    [0, 1]. Times are UTC. `superseded_by` is set when `status` is superseded, `deleted_at` when it is deleted.
    """

    id: str
    namespace: str
    type: str
    status: str
    title: str
    content: str
    tags: tuple[str, ...]
    confidence: float
    effective_confidence: float
    proof_count: int
    refutation_count: int
    revision: int
    writer: str
    session: str | None
    origin: str
    model: str | None
    supersedes: str | None
    superseded_by: str | None
    created_at: str
    updated_at: str
    deleted_at: str | None


@dataclass(frozen=True, slots=True)
class Draft:
    """The fields of a record that a writer gives; already checked and normalised by `draft`."""

    namespace: str
    type: str
    title: str
    content: str
    tags: tuple[str, ...] = ()
    confidence: float = 0.7
    session: str | None = None


def new_id(now: datetime, entropy: bytes) -> str:
    """A UUIDv7 (RFC 9562 section 5.7) as 32 lower-case hex digits, so that ids sort by time.

    Args:
      now: the moment of writing; its milliseconds are the first 48 bits.
      entropy: 10 random bytes.
    """
    millis = int(now.timestamp() * 1000)
    tail = int.from_bytes(entropy[:10], "big")
    value = (millis & (1 << 48) - 1) << 80 | 0x7 << 76 | (tail >> 68) << 64 | 0b10 << 62 | tail & (1 << 62) - 1
    return f"{value:032x}"


def stamp(moment: datetime) -> str:
    """UTC ISO 8601 with milliseconds and Z: fixed width, so that text order is time order."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def parse_stamp(field: str, text: str) -> datetime:
    """Any ISO 8601 time with an offset or Z (a time without one is taken as UTC).

    Raises: InvalidArgument: not a time.
    """
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):  # the first and the last day have no UTC time in every zone
        raise InvalidArgument(field, "must be an ISO 8601 time such as 2026-03-01T12:00:00Z") from None


def check_id(field: str, text: str) -> str:
    """A full id or a prefix of 8 or more characters, lower-cased (hyphens of the UUID form are dropped).

    Raises: InvalidArgument: neither.
    """
    plain = text.strip().lower().replace("-", "")
    if not _ID.fullmatch(plain):
        raise InvalidArgument(field, f"must be {ID_CHARS} hex digits or a prefix of at least {ID_PREFIX_MIN_CHARS}")
    return plain


def shortest_prefix(record_id: str, neighbours: Sequence[str], now: datetime) -> str:
    """The shortest prefix of 8 or more characters that no other record has, or will ever get.

    Args:
      neighbours: the ids next to it in order.
      now: an id of the last seconds may still be on its way into the store, and whatever comes later is greater.
    """
    length = ID_PREFIX_MIN_CHARS
    newest = f"{int((now - ID_SETTLES).timestamp() * 1000):012x}"
    if record_id[: len(newest)] >= newest:
        return record_id
    for other in (*neighbours, newest):
        while length < ID_CHARS and other[:length] == record_id[:length]:
            length += 1
    return record_id[:length]


def check_text(field: str, text: str, *, max_chars: int | None = None, max_bytes: int | None = None) -> str:
    """A persisted string: valid Unicode, no control characters but tab and newline, within its limit, not blank.

    Raises: InvalidArgument: names the limit and what was found.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    if not text:
        raise InvalidArgument(field, "must not be empty")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise InvalidArgument(field, "holds a lone surrogate; text must be valid Unicode") from None
    if _CONTROL.search(text):
        raise InvalidArgument(field, "holds a control character; only tab and newline are allowed")
    if max_chars is not None and len(text) > max_chars:
        raise InvalidArgument(field, f"has {len(text)} characters; at most {max_chars} are allowed")
    if max_bytes is not None and size > max_bytes:
        raise InvalidArgument(field, f"has {size} bytes of UTF-8; at most {max_bytes} are allowed")
    return text


def check_line(field: str, text: str, max_chars: int) -> str:
    """A persisted string on one line: runs of white space become one space."""
    return check_text(field, " ".join(text.split()), max_chars=max_chars)


def check_type(value: str) -> str:
    """One of the nine record types. Raises: InvalidArgument."""
    if value not in TYPES:
        raise InvalidArgument("type", f"must be one of {', '.join(TYPES)}")
    return value


def check_confidence(value: float) -> float:
    """A number from 0 to 1. Raises: InvalidArgument (NaN included)."""
    if not 0.0 <= value <= 1.0:
        raise InvalidArgument("confidence", "must be a number from 0 to 1")
    return float(value)


def check_tags(tags: Sequence[str]) -> tuple[str, ...]:
    """At most 16 tags of 1 to 64 characters, lower-cased, each once, in the order given. Raises: InvalidArgument."""
    clean = dict.fromkeys(check_line("tags", tag, TAG_MAX_CHARS).lower() for tag in tags)
    if len(clean) > TAGS_MAX:
        raise InvalidArgument("tags", f"has {len(clean)} entries; at most {TAGS_MAX} are allowed")
    return tuple(clean)


def draft(
    *,
    namespace: str,
    record_type: str,
    title: str,
    content: str,
    tags: Sequence[str] = (),
    confidence: float = 0.7,
    session: str | None = None,
) -> Draft:
    """Check and normalise what a writer gave (the namespace is checked by `namespaces.validate`).

    Raises: InvalidArgument: the first field that does not hold.
    """
    return Draft(
        namespace=namespace,
        type=check_type(record_type),
        title=check_line("title", title, TITLE_MAX_CHARS),
        content=check_text("content", content, max_bytes=CONTENT_MAX_BYTES),
        tags=check_tags(tags),
        confidence=check_confidence(confidence),
        session=None if session is None else check_line("session", session, SESSION_MAX_CHARS),
    )


def change_status(current: str, wanted: str) -> str:
    """The state that `memory_update` may set: candidate to active and back.

    Raises: InvalidArgument: any other move; supersession and forgetting have their own tools.
    """
    if wanted not in LIVE:
        raise InvalidArgument(
            "changes.status", "may be active or candidate; store with supersedes, or memory_forget, do the rest"
        )
    if current not in LIVE:
        raise InvalidArgument("changes.status", f"a {current} record cannot become {wanted}")
    return wanted


def screened_fields(values: Mapping[str, object]) -> list[tuple[str, str]]:
    """Every string in a mapping of fields, lists flattened, as (field, text) for the screen."""
    found: list[tuple[str, str]] = []
    for field, value in values.items():
        if isinstance(value, str):
            found.append((field, value))
        elif isinstance(value, Mapping):
            found.extend((f"{field}.{name}", text) for name, text in screened_fields(value))
        elif isinstance(value, Sequence):
            found.extend((field, item) for item in value if isinstance(item, str))
    return found
