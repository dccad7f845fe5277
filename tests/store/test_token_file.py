"""What is kept of generated tokens, and what happens when the file is not what it was."""

import json
import os
import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from agent_memory.domain.clients import Client, identify, new_token, parse_network, token_digest
from agent_memory.domain.errors import InvalidArgument
from agent_memory.store import token_file
from agent_memory.store.token_file import FILE_NAME, TokenFileError, Watcher, renew, settle

READ = frozenset({"read"})
CLAUDE, CODEX = Client("claude-code", READ), Client("codex", READ)


@pytest.fixture
def make_token() -> partial[str]:
    counter: Iterator[int] = iter(range(1, 200))
    return partial(new_token, lambda size: bytes([next(counter)]) * size)


def test_a_client_listed_by_name_gets_a_token_once(tmp_path: Path, make_token: partial[str]) -> None:
    first = settle(tmp_path, [CLAUDE, CODEX], make_token)
    assert set(first.new_tokens) == {"claude-code", "codex"}
    again = settle(tmp_path, [CLAUDE, CODEX], make_token)
    assert again.new_tokens == {}
    assert again.clients == first.clients
    assert identify(again.clients, f"Bearer {first.new_tokens['codex']}", None).name == "codex"


def test_the_file_holds_digests_and_never_a_token(tmp_path: Path, make_token: partial[str]) -> None:
    token = settle(tmp_path, [CLAUDE], make_token).new_tokens["claude-code"]
    content = (tmp_path / FILE_NAME).read_text()
    assert json.loads(content) == {"version": 1, "tokens": {"claude-code": token_digest(token)}}
    assert token not in content
    assert token not in repr(settle(tmp_path, [CODEX], make_token))
    assert [path.name for path in tmp_path.iterdir()] == [FILE_NAME]


@pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX")
def test_the_file_is_private_and_becomes_so_again(tmp_path: Path, make_token: partial[str]) -> None:
    path = tmp_path / FILE_NAME
    old = os.umask(0)
    try:
        settle(tmp_path, [CLAUDE], make_token)
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o644)
    assert settle(tmp_path, [CLAUDE], make_token).new_tokens == {}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_client_removed_and_added_back_gets_a_new_token(tmp_path: Path, make_token: partial[str]) -> None:
    old = settle(tmp_path, [CLAUDE, CODEX], make_token).new_tokens["codex"]
    settle(tmp_path, [CLAUDE], make_token)
    back = settle(tmp_path, [CLAUDE, CODEX], make_token)
    assert list(back.new_tokens) == ["codex"]
    assert back.new_tokens["codex"] != old


def test_clients_with_a_token_or_address_of_their_own_get_none(tmp_path: Path, make_token: partial[str]) -> None:
    own = Client("own", READ, token_sha256="0" * 64)
    lan = Client("lan", READ, ip=parse_network("10.0.0.0/8"))
    settled = settle(tmp_path, [own, lan], make_token)
    assert settled.clients == (own, lan)
    assert settled.new_tokens == {}
    assert not (tmp_path / FILE_NAME).exists()


def test_a_client_given_its_own_token_loses_the_generated_one(tmp_path: Path, make_token: partial[str]) -> None:
    settle(tmp_path, [CLAUDE], make_token)
    settle(tmp_path, [Client("claude-code", READ, token_sha256="0" * 64)], make_token)
    assert json.loads((tmp_path / FILE_NAME).read_text())["tokens"] == {}


def test_a_configured_digest_of_a_generated_token_is_refused(tmp_path: Path, make_token: partial[str]) -> None:
    token = settle(tmp_path, [CLAUDE], make_token).new_tokens["claude-code"]
    with pytest.raises(InvalidArgument, match="same token"):
        settle(tmp_path, [CLAUDE, Client("x", READ, token_sha256=token_digest(token))], make_token)


def test_renewing_replaces_one_token_only(tmp_path: Path, make_token: partial[str]) -> None:
    first = settle(tmp_path, [CLAUDE, CODEX], make_token)
    token = renew(tmp_path, "codex", make_token)
    after = settle(tmp_path, [CLAUDE, CODEX], make_token)
    assert after.new_tokens == {}
    assert identify(after.clients, f"Bearer {token}", None).name == "codex"
    assert after.clients[0] == first.clients[0]
    assert after.clients[1] != first.clients[1]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"\xff",
        b"[" * 100_000,
        b'{"version": 2, "tokens": {}}',
        b'{"version": 1}',
        b'{"version": 1, "tokens": []}',
        b'{"version": 1, "tokens": {"codex": 5}}',
        b'{"version": 1, "tokens": {"codex": "zqsecret"}}',
        b'{"version": 1, "tokens": {"Bad Name": "' + b"0" * 64 + b'"}}',
        b" " * (1 << 20) + b'{"version": 1, "tokens": {}}',
    ],
)
def test_a_damaged_file_is_refused_and_left_as_it_is(tmp_path: Path, make_token: partial[str], content: bytes) -> None:
    path = tmp_path / FILE_NAME
    path.write_bytes(content)
    for act in (partial(settle, tmp_path, [CLAUDE], make_token), partial(renew, tmp_path, "codex", make_token)):
        with pytest.raises(TokenFileError, match=r"client_tokens\.json is damaged.*backup.*delete") as caught:
            act()
        assert "zqsecret" not in str(caught.value)
    assert path.read_bytes() == content


def test_a_crash_before_the_replacement_leaves_the_old_tokens(
    tmp_path: Path, make_token: partial[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = settle(tmp_path, [CLAUDE], make_token)

    def crash(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", crash)
        with pytest.raises(TokenFileError, match="cannot be written"):
            settle(tmp_path, [CLAUDE, CODEX], make_token)
    again = settle(tmp_path, [CLAUDE], make_token)
    assert again.clients == first.clients
    settle(tmp_path, [CLAUDE, CODEX], make_token)
    assert [path.name for path in tmp_path.iterdir()] == [FILE_NAME]


def test_a_file_that_cannot_be_read_or_a_missing_folder_is_refused(tmp_path: Path, make_token: partial[str]) -> None:
    with pytest.raises(TokenFileError, match="cannot be written"):
        settle(tmp_path / "nowhere", [CLAUDE], make_token)
    (tmp_path / FILE_NAME).mkdir()
    with pytest.raises(TokenFileError, match="cannot be read"):
        settle(tmp_path, [CLAUDE], make_token)


def test_content_and_folder_are_synced_around_the_replacement(
    tmp_path: Path, make_token: partial[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[bool] = []
    real = os.fsync

    def record(handle: int) -> None:
        synced.append(stat.S_ISDIR(os.fstat(handle).st_mode))
        real(handle)

    monkeypatch.setattr(token_file.os, "fsync", record)
    settle(tmp_path, [CLAUDE], make_token)
    assert synced == ([False, True] if os.name == "posix" else [False])


def test_a_running_server_notices_a_renewed_token_once(tmp_path: Path, make_token: partial[str]) -> None:
    first = settle(tmp_path, [CLAUDE, CODEX], make_token)
    watcher = Watcher(tmp_path, [CLAUDE, CODEX])
    assert watcher.changed() is None
    token = renew(tmp_path, "codex", make_token)
    clients = watcher.changed()
    assert clients is not None
    assert identify(clients, f"Bearer {token}", None).name == "codex"
    assert clients[0] == first.clients[0]
    assert watcher.changed() is None


def test_a_file_damaged_while_the_server_runs_changes_no_client(tmp_path: Path, make_token: partial[str]) -> None:
    settle(tmp_path, [CLAUDE], make_token)
    watcher = Watcher(tmp_path, [CLAUDE])
    (tmp_path / FILE_NAME).write_text("{")
    assert watcher.changed() is None
