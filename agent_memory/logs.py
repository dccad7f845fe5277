"""Log lines: one event each, key=value, to standard error. No content, no tokens, no queries."""

import logging
import sys
from typing import Final

import structlog

# Libraries log requests, payloads and tracebacks that may hold content; only their serious words pass, without text.
QUIET: Final = ("mcp", "hypercorn", "quart", "httpx", "httpcore", "anyio", "asyncio")


def configure(level: str = "INFO") -> None:
    """Set up logging for the whole process; called once, by the command line."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
            structlog.processors.LogfmtRenderer(key_order=("at", "level", "event"), bool_as_flag=False),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level]),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    handler = _EventOnly()
    logging.basicConfig(handlers=[handler], level=logging.ERROR, force=True)
    own = logging.getLogger("agent_memory")
    own.handlers, own.propagate = [_OwnWords()], False
    own.setLevel(logging.WARNING)
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.ERROR)


class _OwnWords(logging.Handler):
    """A warning of our own modules that use the standard library's logging; their texts hold no content."""

    def emit(self, record: logging.LogRecord) -> None:
        structlog.get_logger(record.name).warning(record.getMessage())


class _EventOnly(logging.Handler):
    """A library's error as an event: which library and which line, not what it said."""

    def emit(self, record: logging.LogRecord) -> None:
        kind = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else "-"
        structlog.get_logger().error(
            "library-error", library=record.name, at_line=f"{record.filename}:{record.lineno}", kind=kind
        )
