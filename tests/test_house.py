"""The house of DESIGN.md section 2: imports point down, SQL lives in one place, no module grows too long."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "agent_memory"
MODULES = sorted(ROOT.rglob("*.py"))
LINES_MAX = 400

# What each floor may import of the package. `domain` is everyone's; version and logs are no floor.
FLOORS: dict[str, set[str]] = {
    "domain": {"domain"},
    "options": {"domain", "options"},
    "config": {"domain", "options", "config"},
    "store": {"domain", "store"},
    "llm": {"domain", "store", "llm"},
    "encoder": {"domain", "store", "encoder"},
    "retrieval": {"domain", "store", "encoder", "retrieval"},
    "homeassistant": {"domain", "homeassistant"},
    "tools": {"domain", "store", "retrieval", "llm", "encoder", "homeassistant", "tools"},
    "web": {"domain", "store", "retrieval", "llm", "encoder", "homeassistant", "tools", "web"},
}
FREE = {"nursery", "cli", "__main__"}  # the entry points see every floor
OPEN_TO_ALL = {"__init__", "logs"}

# What only the floors with a disk, a socket or a clock may import.
OUTSIDE = {"trio", "apsw", "httpx", "socket", "subprocess", "threading", "hypercorn", "quart", "quart_trio", "mcp"}
SQL = re.compile(
    r"\s*(SELECT\s.*\bFROM|INSERT (OR \w+ )?INTO|UPDATE \w+ SET|DELETE FROM|PRAGMA \w"
    r"|CREATE (TABLE|INDEX|VIRTUAL|TRIGGER)|BEGIN( IMMEDIATE)?$|COMMIT$|ROLLBACK|SAVEPOINT \w|WITH RECURSIVE)",
    re.DOTALL,
)


def floor(module: Path) -> str:
    return module.relative_to(ROOT).with_suffix("").parts[0]


def imported(module: Path) -> Iterator[str]:
    """Every module that is imported anywhere in a file, inside functions too."""
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports relatively"
            yield node.module or ""
            yield from (f"{node.module}.{name.name}" for name in node.names)


def own(name: str) -> str | None:
    """The floor that an import reaches, None outside the package."""
    parts = name.split(".")
    if parts[0] != "agent_memory":
        return None
    known = [part for part in parts[1:2] if part in FLOORS or part in FREE or part in OPEN_TO_ALL]
    return known[0] if known else "__init__"


@pytest.mark.parametrize("module", MODULES, ids=lambda module: str(module.relative_to(ROOT)))
def test_imports_point_downward(module: Path) -> None:
    here = floor(module)
    if here in FREE or here in OPEN_TO_ALL:
        return
    for name in imported(module):
        reached = own(name)
        assert reached is None or reached in FLOORS[here] | OPEN_TO_ALL, f"{here} may not import {name}"


def test_every_module_stands_on_a_known_floor() -> None:
    assert {floor(module) for module in MODULES} <= FLOORS.keys() | FREE | OPEN_TO_ALL


def test_the_domain_does_no_input_or_output() -> None:
    for module in (ROOT / "domain").rglob("*.py"):
        reached = {name.split(".")[0] for name in imported(module)} & OUTSIDE
        assert not reached, f"{module} imports {reached}"


def test_sql_text_stands_in_the_store_alone() -> None:
    for module in MODULES:
        if floor(module) == "store":
            continue
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert not SQL.match(node.value), f"{module}:{node.lineno} holds SQL"


def test_no_module_is_longer_than_400_lines() -> None:
    for module in MODULES:
        length = len(module.read_text(encoding="utf-8").splitlines())
        assert length <= LINES_MAX, f"{module} has {length} lines; look for its second subject"


def test_every_module_says_what_it_owns() -> None:
    for module in MODULES:
        text = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8")))
        assert text, f"{module} opens with no sentence"


@pytest.mark.parametrize("module", [each for each in MODULES if each.relative_to(ROOT).parts[0] != "cli"], ids=str)
def test_no_client_of_the_server_goes_through_a_proxy_of_the_environment(module: Path) -> None:
    """Records, notes and Home Assistant's token go where the options say and nowhere else."""
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "httpx.AsyncClient":
            given = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
            assert given.get("trust_env") == "False", f"{module}:{node.lineno}"


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_log_lines_are_written_through_one_door(module: Path) -> None:
    """`Log` writes facts as key=value; a sentence put together elsewhere is one long event."""
    if module.name != "logs.py":
        assert "logging.getLogger" not in module.read_text()
