"""The second line of the screen: every string that any statement writes passes it, whoever wrote the statement.

The tools screen field by field and can name the field; this guard knows only the statement, and catches the call site
that forgot.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from agent_memory.domain.screen.memo import ScreenMemo

# Behind comments too: whoever writes one must not lift the screen with it.
_WRITES: Final = re.compile(r"(?:\s|--[^\n]*\n|/\*.*?\*/)*(?:INSERT|UPDATE|REPLACE|WITH)\b", re.IGNORECASE | re.DOTALL)
_TABLE: Final = re.compile(r"\b(?:INTO|UPDATE)\s+(?:OR\s+\w+\s+)?(\w+)", re.IGNORECASE)


class Composed(str):
    """JSON that this program put together from texts. The screen judges the texts, and not the names it gave them:
    `"session_id": "0198…"` reads like a credential, and is none.
    """

    __slots__ = ()


def composed(value: object) -> Composed:
    """A value as JSON for a column."""
    return Composed(json.dumps(value, ensure_ascii=False, sort_keys=True))


class StatementScreen:
    """An apsw execution tracer that refuses a writing statement with a secret among its bindings.

    Raises: SecretRefused: names the table as the field; the statement does not run.
    """

    def __init__(self, memo: ScreenMemo) -> None:
        self._memo = memo

    def __call__(self, _cursor: Any, sql: str, bindings: Any) -> bool:
        if bindings and _WRITES.match(sql):
            table = _TABLE.search(sql)
            values = bindings.values() if isinstance(bindings, Mapping) else bindings
            self._memo.refuse((table[1] if table else "statement", text) for text in _texts(list(values)))
        return True


def _texts(value: object) -> Iterator[str]:
    """Every text in a value, those inside composed JSON included."""
    if isinstance(value, Composed):
        yield from _texts(json.loads(value))
    elif isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
