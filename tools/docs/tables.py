"""Writes the tables of README.md that derive from the code: options and tools. `make docs` runs it, a test compares."""

import re
import sys
from pathlib import Path

from agent_memory.options.table import as_markdown
from agent_memory.tools import build_registry

ROOT = Path(__file__).parent.parent.parent
README = ROOT / "README.md"


def tools_table() -> str:
    """Tool, scope and the first sentence that agents read."""
    rows = ["| Tool | Scope | Use |", "|---|---|---|"]
    for tool in build_registry():
        first = re.split(r"(?<=\.) ", tool.description)[0].rstrip(".")
        rows.append(f"| `{tool.name}` | {tool.scope} | {first}. |")
    return "\n".join(rows) + "\n"


def with_tables(text: str) -> str:
    """The text with every derived table made anew; a table stands between `<!-- name -->` and `<!-- /name -->`."""
    for name, table in (("options", as_markdown()), ("tools", tools_table())):
        start, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
        before, _, rest = text.partition(start)
        _, found, after = rest.partition(end)
        if not found:
            sys.exit(f"README.md has no place for the table of {name}")
        text = f"{before}{start}{table}{end}{after}"
    return text


if __name__ == "__main__":
    README.write_text(with_tables(README.read_text(encoding="utf-8")), encoding="utf-8")
