"""The commands as a person or a script meets them: what they print where, and how they end."""

import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from agent_memory import __version__
from agent_memory.cli import checks, main
from agent_memory.store import audit, records, token_file
from agent_memory.store.connection import DATABASE, close_database, locked_folder, open_database
from support.world import HERE

LINE = {"namespace": HERE, "type": "fact", "title": "Imported", "content": "Text 日本"}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


def run(data: Path, command: str, *arguments: str, given: str | None = None, **environment: str) -> Result:
    return CliRunner().invoke(main, [command, *arguments, "--data", str(data)], input=given, env=environment)


def filled(data: Path, *titles: str) -> None:
    lines = "\n".join(json.dumps(LINE | {"title": title}) for title in titles)
    assert run(data, "import", "-", given=lines).exit_code == 0


def test_the_version_is_printed_alone() -> None:
    assert CliRunner().invoke(main, ["--version"]).output == f"{__version__}\n"


def test_the_version_and_a_call_import_nothing_heavy() -> None:
    script = (
        "import sys\n"
        "from agent_memory.cli import main\n"
        "heavy = {'trio', 'mcp', 'pydantic', 'apsw', 'quart', 'httpx', 'numpy', 'ssl'} & set(sys.modules)\n"
        "sys.exit(', '.join(heavy) or 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def erase(data: Path, *titles: str) -> None:
    """What a hard forget does to the rows."""
    conn = open_database(data / DATABASE).connection
    for title in titles:
        (record_id,) = conn.execute("SELECT id FROM records WHERE title = ?", (title,)).fetchone()
        records.erase(conn, [record_id])
        audit.note(conn, at="2026-01-01T00:00:00.000Z", client="owner", action="forget-hard", record_id=record_id)
    close_database(conn)


# -- export and import -------------------------------------------------------------------------------------------------


def test_an_export_is_imported_and_exports_alike(data: Path, tmp_path: Path) -> None:
    filled(data, "One", "Two")
    exported = run(data, "export").stdout
    assert [json.loads(line)["title"] for line in exported.splitlines()] == ["One", "Two"]
    file = tmp_path / "x.jsonl"
    file.write_text(exported, encoding="utf-8")
    done = run(tmp_path / "second", "import", str(file))
    assert done.stdout.startswith("put back 2, candidates 0")
    assert run(tmp_path / "second", "export").stdout == exported


def test_an_export_of_one_namespace_holds_no_other(data: Path) -> None:
    filled(data, "One")
    assert run(data, "export", "--namespace", HERE).stdout.count("\n") == 1
    assert run(data, "export", "--namespace", "global").stdout == ""
    refused = run(data, "export", "--namespace", "no such form")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert refused.stderr.startswith("agent-memory: namespace: ")


def test_an_export_works_while_a_server_holds_the_folder_and_an_import_does_not(data: Path) -> None:
    filled(data, "One")
    with locked_folder(data):
        assert run(data, "export").exit_code == 0
        refused = run(data, "import", "-", given=json.dumps(LINE))
    assert refused.exit_code == 1
    assert "another process" in refused.stderr


def test_without_a_database_an_export_says_what_to_do(data: Path) -> None:
    done = run(data, "export")
    assert done.exit_code == 1
    assert "no database" in done.stderr


def test_an_import_with_refused_lines_names_them_and_ends_with_1(data: Path) -> None:
    done = run(data, "import", "-", given=json.dumps(LINE) + "\nnot json\n")
    assert done.exit_code == 1
    assert "line 2: line: is not JSON" in done.stderr
    assert "candidates 1" in done.stdout
    assert "refused 1" in done.stdout


def test_a_closed_pipe_ends_an_export_quietly(data: Path) -> None:
    filled(data, *(f"Title {number}" for number in range(600)))
    command = [sys.executable, "-m", "agent_memory", "export", "--data", str(data)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    process.wait(20)


def test_output_is_utf_8_whatever_the_locale(data: Path) -> None:
    filled(data, "日本")
    command = [sys.executable, "-m", "agent_memory", "export", "--data", str(data)]
    environment = {**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run(command, capture_output=True, env=environment, check=True)
    assert "日本" in done.stdout.decode("utf-8")


def test_a_start_without_clients_says_that_nobody_can_call(data: Path) -> None:
    done = run(data, "serve", "--host", "192.0.2.1", AGENT_MEMORY_CLIENTS="[]")
    assert "nobody can call" in done.stderr
    assert "nobody" not in run(data, "serve", "--host", "192.0.2.1").stderr


# -- backup and restore ------------------------------------------------------------------------------------------------


def test_a_backup_comes_back_through_the_commands(data: Path, tmp_path: Path) -> None:
    filled(data, "One")
    file = tmp_path / "b.tar"
    assert run(data, "backup", str(file)).exit_code == 0
    again = run(data, "backup", str(file))
    assert (again.exit_code, "exists" in again.stderr) == (1, True)
    assert run(data, "backup", str(file), "--force").exit_code == 0
    filled(data, "Two")
    done = run(data, "restore", str(file))
    assert done.exit_code == 0
    assert "safety" in done.stderr
    assert run(data, "export").stdout.count("\n") == 1


def test_a_wrong_restore_is_undone_with_what_it_set_aside(data: Path, tmp_path: Path) -> None:
    filled(data, "One")
    file = tmp_path / "b.tar"
    run(data, "backup", str(file))
    filled(data, "Two")
    run(data, "restore", str(file))
    (aside,) = (data / "safety").iterdir()
    done = run(data, "restore", str(aside))
    assert (done.exit_code, "put back" in done.stderr) == (0, True)
    assert run(data, "export").stdout.count("\n") == 2
    assert run(data, "restore", str(tmp_path)).exit_code == 1  # a folder without a database
    (aside,) = set((data / "safety").iterdir()) - {aside}
    assert run(tmp_path / "elsewhere", "restore", str(aside)).exit_code == 0
    assert run(tmp_path / "elsewhere", "export").stdout.count("\n") == 1


def test_a_restore_names_what_had_been_erased_and_is_back(data: Path, tmp_path: Path) -> None:
    filled(data, "One", "Two", "Three")
    ids = [json.loads(line)["id"] for line in run(data, "export").stdout.splitlines()]
    file = tmp_path / "b.tar"
    run(data, "backup", str(file))
    filled(data, "Later")
    erase(data, "One", "Later")
    done = run(data, "restore", str(file))
    assert [each for each in ids if each in done.stderr] == ids[:1]
    assert "hard" in done.stderr


def test_a_restore_names_whose_older_token_works_again(data: Path, tmp_path: Path) -> None:
    filled(data, "One")
    for name in ("claude-code", "codex"):
        run(data, "token", name)
    run(data, "backup", str(tmp_path / "b.tar"))
    assert "token" not in run(data, "restore", str(tmp_path / "b.tar")).stderr
    run(data, "token", "codex")
    said = run(data, "restore", str(tmp_path / "b.tar")).stderr
    assert "agent-memory token codex" in said
    assert "claude-code" not in said


def test_a_backup_into_a_folder_that_is_not_there_says_so(data: Path, tmp_path: Path) -> None:
    filled(data, "One")
    done = run(data, "backup", str(tmp_path / "no" / "b.tar"))
    assert (done.exit_code, done.stderr) == (
        1,
        f"agent-memory: {tmp_path / 'no'} is no folder; make it, or choose another place\n",
    )


def test_a_wrong_file_is_refused_in_one_line(data: Path, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("x")
    done = run(data, "restore", str(tmp_path / "x"))
    assert done.exit_code == 1
    assert done.stderr.count("\n") == 1
    assert run(data, "restore", str(tmp_path / "missing")).exit_code == 2


def test_a_file_that_cannot_be_read_is_named_in_words(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["screen", str(tmp_path / "missing")])
    assert done.exit_code == 1
    assert done.stderr == f"agent-memory: {tmp_path / 'missing'}: No such file or directory\n"


# -- token -------------------------------------------------------------------------------------------------------------


def test_a_new_token_goes_to_standard_output_alone(data: Path) -> None:
    done = run(data, "token", "codex")
    assert done.exit_code == 0
    assert done.stdout.startswith("agentmem_")
    assert len(done.stdout.split()) == 1
    assert "AGENT_MEMORY_TOKEN" in done.stderr
    assert stat.S_IMODE((data / token_file.FILE_NAME).stat().st_mode) == 0o600
    assert done.stdout.strip() not in (data / token_file.FILE_NAME).read_text()


def test_an_unknown_client_is_refused_and_the_known_ones_are_named(data: Path) -> None:
    done = run(data, "token", "curser")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "known: claude-code, codex" in done.stderr


def test_a_client_without_a_generated_token_gets_none(data: Path) -> None:
    data.mkdir()
    clients = [
        {"name": "lan", "scopes": ["read"], "ip": "192.168.1.0/24"},
        {"name": "made", "scopes": ["read"], "token_sha256": "0" * 64},
    ]
    (data / "options.json").write_text(json.dumps({"clients": clients}))
    assert "address" in run(data, "token", "lan").stderr
    assert "token_sha256" in run(data, "token", "made").stderr
    assert not (data / token_file.FILE_NAME).exists()


# -- doctor ------------------------------------------------------------------------------------------------------------


def doctor(data: Path, port: int = 1, **environment: str) -> tuple[int, dict[str, list[str]]]:
    """Exit code, and the lines by their mark."""
    done = CliRunner().invoke(main, ["doctor", "--data", str(data), "--port", str(port)], env=environment)
    found: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        mark, _, text = line.partition(" ")
        found.setdefault(mark, []).append(text.strip())
    return done.exit_code, found


def test_before_the_first_start_nothing_is_wrong(data: Path) -> None:
    code, found = doctor(data)
    assert (code, found.get("WRONG")) == (0, None)
    assert not data.exists()


def test_a_sound_folder_is_sound(data: Path) -> None:
    filled(data, "One")
    run(data, "token", "codex")
    code, found = doctor(data)
    assert code == 0
    assert "WRONG" not in found
    assert any(line.startswith("client codex: ") and "generated token" in line for line in found["ok"])
    assert any(line.startswith("client claude-code: ") and "no token yet" in line for line in found["note"])
    assert any(line.startswith("database: ") and line.endswith("sound") for line in found["ok"])


def test_each_fault_is_a_line_and_the_exit_code_1(data: Path) -> None:
    filled(data, "One")
    run(data, "token", "codex")
    cases: list[tuple[Any, str]] = [
        (lambda: (data / token_file.FILE_NAME).chmod(0o644), "tokens: "),
        (lambda: (data / token_file.FILE_NAME).write_text("{}"), "tokens: "),
        (lambda: (data / DATABASE).chmod(0o644), "database: "),
        (lambda: (data / DATABASE).write_bytes(b"x" * 9999), "database: "),
        (lambda: (data / "options.json").write_text('{"huubs": []}'), "options: option huubs"),
    ]
    for break_it, start in cases:
        break_it()
        code, found = doctor(data)
        assert code == 1
        assert any(line.startswith(start) for line in found["WRONG"]), (start, found)


def test_options_that_start_and_yet_do_not_work_are_told(data: Path) -> None:
    data.mkdir(mode=0o700)
    client = {"name": "desk", "scopes": ["write"], "ip": "127.0.0.1"}
    model = data / "models" / "tiny"
    (data / "options.json").write_text(json.dumps({"clients": [client], "embed_model_dir": "models/tiny"}))
    code, found = doctor(data)
    assert code == 1
    assert any(line.startswith("client desk: write; it can do nothing") for line in found["WRONG"])
    assert any(line.startswith("embed_model_dir: ") and "model.json" in line for line in found["WRONG"])
    model.mkdir(parents=True)
    (model / "model.json").write_text('{"name": "multilingual-e5-small"}')
    assert any(line.endswith("model.onnx is missing: install the model again") for line in doctor(data)[1]["WRONG"])
    for name in ("model.onnx", "tokenizer.json"):
        (model / name).touch()
    assert f"embed_model_dir: {model}, multilingual-e5-small" in doctor(data)[1]["ok"]


def test_a_database_of_a_newer_version_is_told(data: Path) -> None:
    import apsw

    filled(data, "One")
    connection = apsw.Connection(str(data / DATABASE))
    connection.pragma("user_version", 9999)
    connection.close()
    code, found = doctor(data)
    assert code == 1
    assert "newer version" in found["WRONG"][0]


def test_an_index_that_lost_a_record_is_told(data: Path) -> None:
    import apsw

    filled(data, "One", "Two")
    connection = apsw.Connection(str(data / DATABASE))
    connection.execute("DELETE FROM records_fts_docsize WHERE id = 1")
    connection.close()
    code, found = doctor(data)
    assert code == 1
    assert "full-text index" in found["WRONG"][0]


def test_a_held_folder_with_nobody_answering_is_told(data: Path) -> None:
    filled(data, "One")
    with locked_folder(data):
        code, found = doctor(data)
    assert code == 1
    assert "nothing answers" in found["WRONG"][0]


def test_the_file_system_is_named() -> None:
    assert checks.file_system(Path("/")) != ""


# -- start -------------------------------------------------------------------------------------------------------------


def test_a_wrong_option_stops_the_start_with_one_line(data: Path) -> None:
    data.mkdir()
    (data / "options.json").write_text('{"review_at": "25:00"}')
    started = time.monotonic()
    done = run(data, "serve")
    assert done.exit_code == 1
    assert done.stderr.startswith("agent-memory: option review_at: ")
    assert time.monotonic() - started < 20


def test_wrong_usage_ends_with_2(data: Path) -> None:
    assert run(data, "serve", "--port", "99999").exit_code == 2
    assert CliRunner().invoke(main, ["nonsense"]).exit_code == 2
