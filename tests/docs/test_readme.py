"""The papers keep step with the code: the README's tables, the commands and make targets it names, CI."""

import importlib.util
import re
from pathlib import Path

from agent_memory.cli import main

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def tables_module():  # type: ignore[no-untyped-def]
    spec = importlib.util.spec_from_file_location("tables", ROOT / "tools/docs/tables.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tables_of_options_and_tools_are_those_of_the_code() -> None:
    assert tables_module().with_tables(README) == README, "run make docs"


def test_every_command_is_in_the_readme_and_no_other() -> None:
    listed = re.findall(r"^\| `([a-z]+)[ `]", README.split("## Commands")[1].split("## Options")[0], re.MULTILINE)
    assert sorted(listed) == sorted(main.commands)


def test_every_make_target_that_the_papers_name_exists() -> None:
    papers = README + (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8") + (ROOT / ".ci/run").read_text()
    named = set(re.findall(r"(?:^|`)make ([a-z][a-z-]*)\b", papers, re.MULTILINE))
    assert {"serve", "test", "check", "bench"} <= named
    targets = set(re.findall(r"^([a-z][a-z-]*):", MAKEFILE, re.MULTILINE))
    assert named <= targets


def test_contributing_names_every_room_of_the_house_and_the_screen_as_the_tools_call_it() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rooms = {path.parent.name for path in (ROOT / "agent_memory").glob("*/__init__.py")}
    assert {room for room in rooms if f"{room}/" not in text} == set()
    assert "`call.services.refuse`" in text
    assert "call.services.refuse(" in (ROOT / "agent_memory/tools/writing.py").read_text(encoding="utf-8")


def test_ci_runs_what_the_readme_calls_and_names_no_place() -> None:
    text = (ROOT / ".ci/run").read_text(encoding="utf-8")
    assert "make check" in text
    assert "make test" in text
    for place in ("http://", "https://", "/opt/", "/work/", "/home/", "/tmp/"):
        assert place not in text + MAKEFILE


def test_everything_installed_from_a_registry_has_a_hash() -> None:
    for name in ("requirements.lock", "requirements-dev.lock", "requirements-build.lock"):
        text = (ROOT / name).read_text(encoding="utf-8")
        blocks = re.split(r"\n(?=[a-z0-9])", text[text.index("==") - 40 :])
        for block in blocks:
            if "==" in block.splitlines()[0]:
                assert "--hash=sha256:" in block, f"{name}: {block.splitlines()[0]}"
    recipes = re.findall(r"^\$\(VENV\)/\.(?:run|dev):.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)
    installs = [line for recipe in recipes for line in recipe.splitlines() if "$(PIP)" in line]
    assert len(installs) == 4
    assert all("--require-hashes" in line or "--no-deps" in line for line in installs)
