"""Log lines: one event each, key=value, to standard error. No content, no tokens, no queries.

A few lines on the standard library's logging: structlog imports rich when it is installed, which costs every start
a tenth of its time and six megabytes.
"""

import logging
import re
import sys
from datetime import UTC, datetime
from typing import Final

OURS: Final = "agent_memory"
_PLAIN: Final = re.compile(r"[^\s\"=]+")


class Log:
    """Writes events of one part of the server: `log.info("ready", took_ms=12)`."""

    def __init__(self, part: str) -> None:
        self._logger = logging.getLogger(f"{OURS}.{part}")

    def info(self, event: str, **facts: object) -> None:
        """Something that an operator may want to know."""
        self._logger.info(event, extra={"facts": facts})

    def warning(self, event: str, **facts: object) -> None:
        """Something that went wrong and is being lived with."""
        self._logger.warning(event, extra={"facts": facts})

    def error(self, event: str, **facts: object) -> None:
        """Something that needs a person."""
        self._logger.error(event, extra={"facts": facts})


def configure() -> None:
    """Set up logging for the whole process; called once, by the command line."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines())
    logging.basicConfig(handlers=[handler], level=logging.ERROR, force=True)
    logging.getLogger(OURS).setLevel(logging.INFO)


def place_of(error: BaseException) -> str:
    """file:line of an error's innermost frame: what is logged of a bug, whose text may hold content."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace is not None else "?"


class _Lines(logging.Formatter):
    """`at=… level=… event=… key=value`, quoted where a value needs it."""

    def format(self, record: logging.LogRecord) -> str:
        if record.name.partition(".")[0] == OURS:
            event, facts = record.getMessage(), dict(getattr(record, "facts", {}))
        else:
            # A library's words may hold a request, a payload or a traceback with content: only its place is written.
            kind = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else None
            event, facts = "library-error", {"library": record.name, "at_line": _place(record), "kind": kind}
        at = datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        pairs = {"at": at, "level": record.levelname.lower(), "event": event, **facts}
        return " ".join(f"{key}={_written(value)}" for key, value in pairs.items() if value is not None)


def _place(record: logging.LogRecord) -> str:
    return f"{record.filename}:{record.lineno}"


def _written(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if _PLAIN.fullmatch(text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'
