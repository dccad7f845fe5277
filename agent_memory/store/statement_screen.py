"""The second line of the screen: every string that any statement writes passes it, whoever wrote the statement.

The tools screen field by field and can name the field; this guard knows only the statement, and catches the call site
that forgot.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from agent_memory.domain.screen.memo import ScreenMemo

_WRITES: Final = re.compile(r"\s*(?:INSERT|UPDATE|REPLACE|WITH)\b", re.IGNORECASE)
_TABLE: Final = re.compile(r"\b(?:INTO|UPDATE)\s+(?:OR\s+\w+\s+)?(\w+)", re.IGNORECASE)


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
            self._memo.refuse((table[1] if table else "statement", value) for value in values if isinstance(value, str))
        return True
