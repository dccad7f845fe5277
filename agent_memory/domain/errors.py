"""What can go wrong, as classes that say what the caller can do next; fronts map them to statuses and codes."""

from collections.abc import Mapping
from typing import Any


class ServiceError(Exception):
    """Base of every error that a caller is told about. Its text never holds stored content, queries or tokens."""


class InvalidArgument(ServiceError, ValueError):
    """An argument is not acceptable; the text names it, what was found and what is allowed."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field


class SecretRefused(ServiceError):
    """A text carries a credential or the do-not-store marker; nothing was stored. Remove it and try again."""

    def __init__(self, field: str, pattern: str) -> None:
        super().__init__(f"{field} was refused by the screen (pattern {pattern}); nothing was stored")
        self.field = field
        self.pattern = pattern


class Unauthenticated(ServiceError):
    """The request names no known client; the text says which header was missing or unknown."""


class Forbidden(ServiceError):
    """The client is known and may not do this."""


class UnknownTool(ServiceError, LookupError):
    """No tool has this name; list the tools to find it."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no tool {name[:60]!r}; tools/list of MCP and GET /api/openapi.json name them")


class RecordNotFound(ServiceError, LookupError):
    """No live record has this id; search or list records to find current ids."""

    def __init__(self, record_id: str, superseded_by: str | None = None) -> None:
        successor = f"; it was superseded by {superseded_by}" if superseded_by else ""
        super().__init__(f"no live record {record_id}{successor}")
        self.record_id = record_id


class QuestionNotFound(ServiceError, LookupError):
    """No standing question of this namespace has this id or text; list the questions, or declare it."""

    def __init__(self) -> None:
        super().__init__("no standing question here has this id or text; memory_questions lists them")


class RevisionConflict(ServiceError):
    """The record moved on since it was read; merge with `current` and retry at `revision`."""

    def __init__(self, record_id: str, revision: int, current: Mapping[str, Any]) -> None:
        super().__init__(f"record {record_id} is at revision {revision}; read it again and retry at that revision")
        self.record_id = record_id
        self.revision = revision
        self.current = current


class Conflict(ServiceError):
    """The request contradicts what is stored; the text says with what."""


class Expired(ServiceError):
    """What was asked for existed and is past its retention; it cannot come back."""


class Busy(ServiceError):
    """The server has more waiting work than it accepts; retry after `retry_after_s` seconds."""

    def __init__(self, what: str, retry_after_s: int = 1) -> None:
        super().__init__(f"{what}; retry in {retry_after_s} s")
        self.retry_after_s = retry_after_s


class StoreUnavailable(ServiceError):
    """The database cannot take this now (disk full, read-only, stopping); nothing was stored."""
