"""POST /api/screen: what the server would refuse to keep, and why, without keeping anything."""

from collections.abc import Mapping
from typing import Any, Final

from agent_memory.domain.errors import InvalidArgument
from agent_memory.domain.screen import explain

FIELDS_MAX: Final = 50
FINDINGS_MAX: Final = 1_000


def dry_run(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Screen named texts.

    Args:
      arguments: `{"texts": {name: text, …}}`.
    Returns: `refused`, and `findings` with field, pattern, why and place (lines and columns from 1), never the value;
      of more than `FINDINGS_MAX` the first, and in `left_out` how many are not listed.
    Raises: InvalidArgument: another shape.
    """
    texts = arguments.get("texts")
    if set(arguments) != {"texts"} or not isinstance(texts, Mapping) or not 1 <= len(texts) <= FIELDS_MAX:
        raise InvalidArgument("texts", f"must be the only argument: an object of 1 to {FIELDS_MAX} named texts")
    for name, text in texts.items():
        if not isinstance(text, str):
            raise InvalidArgument(f"texts.{name[:60]}", "must be a text")
    findings = [
        {
            "field": name,
            "pattern": found.pattern,
            "why": found.why,
            "line": found.line,
            "column": found.column,
            "end_line": found.end_line,
            "end_column": found.end_column,
        }
        for name, text in texts.items()
        for found in explain(text, bounded=True)
    ]
    report = {"refused": bool(findings), "findings": findings[:FINDINGS_MAX]}
    return report if len(findings) <= FINDINGS_MAX else {**report, "left_out": len(findings) - FINDINGS_MAX}
