"""`agent-memory model`: a model is listed, downloaded from a mirror, and named for the option."""

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from agent_memory.cli import main
from agent_memory.encoder import catalogue
from agent_memory.encoder.catalogue import MODELS, Model, ModelFile, Recipe, recipe_of

DATA = bytes(range(256)) * 40
SHA = hashlib.sha256(DATA).hexdigest()
FILES = tuple(ModelFile(name, name, len(DATA), SHA) for name in ("model.onnx", "tokenizer.json"))


class Mirror(BaseHTTPRequestHandler):
    sent = DATA

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.sent)))
        self.end_headers()
        self.wfile.write(self.sent)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def mirror(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    recipe = Recipe("tiny", width=4, max_tokens=8, pooling="mean", weights_sha256=SHA)
    monkeypatch.setattr(catalogue, "MODELS", (Model(recipe, "someone/tiny", "abc", "MIT", FILES),))
    with ThreadingHTTPServer(("127.0.0.1", 0), Mirror) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["model", *arguments])


def test_every_model_of_the_table_is_listed() -> None:
    listed = run("list").stdout
    assert [line.split("\t")[0] for line in listed.splitlines()] == [model.recipe.name for model in MODELS]


def test_a_model_is_installed_below_the_data_folder_and_the_option_is_named(mirror: str, tmp_path: Path) -> None:
    for _ in range(2):  # a second call checks what is there and says the same
        done = run("install", "tiny", "--data", str(tmp_path / "data"), "--hub", mirror)
        assert done.exit_code == 0, done.output
        folder = tmp_path / "data" / "models" / "tiny"
        assert done.stdout == f"{folder}\n"
        assert '"embed_model_dir": "models/tiny"' in done.stderr
        assert [line for line in done.stderr.splitlines() if "complete" in line] == [
            f"{file.name}: {len(DATA)} bytes, complete" for file in FILES
        ]
        assert recipe_of(folder).name == "tiny"


def test_wrong_bytes_end_in_one_line(mirror: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Mirror, "sent", DATA[::-1])
    done = run("install", "tiny", "--data", str(tmp_path / "data"), "--hub", mirror)
    assert done.exit_code == 1
    assert "not the pinned file" in done.stderr
    assert not (tmp_path / "data" / "models" / "tiny" / "model.onnx").exists()


def test_an_unknown_model_is_wrong_usage_that_names_the_known_ones(tmp_path: Path) -> None:
    done = run("install", "huge", "--data", str(tmp_path / "data"))
    assert done.exit_code == 2
    assert "multilingual-e5-small" in done.stderr
    assert not (tmp_path / "data").exists()
