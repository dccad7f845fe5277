"""`model install` leaves a folder that the server takes, says how to use it, and tells a pipe without a bar."""

import hashlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from agent_memory.cli import main
from agent_memory.encoder import catalogue
from agent_memory.encoder import install as module
from agent_memory.encoder.catalogue import Model, ModelFile, Recipe, recipe_of

DATA = bytes(range(256)) * 4_000
SHA = hashlib.sha256(DATA).hexdigest()
MODEL = Model(
    Recipe("tiny", width=4, max_tokens=8, pooling="mean", weights_sha256=SHA),
    repository="someone/tiny",
    revision="abc",
    licence="MIT",
    files=(ModelFile("onnx/model.onnx", "model.onnx", len(DATA), SHA),),
)


@dataclass
class Hub:
    """Serves DATA under every path; the first connections break off after `cut` bytes."""

    url: str = ""
    data: bytes = DATA
    cuts: list[int] = field(default_factory=list)
    asked: list[tuple[str, str]] = field(default_factory=list)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    served = Hub()
    monkeypatch.setattr(catalogue, "MODELS", (MODEL,))
    monkeypatch.setattr(module, "FIRST_PAUSE_S", 0.001)
    for proxy in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(proxy, raising=False)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.asked.append((self.path, self.headers.get("Range", "")))
            start = int(self.headers["Range"][6:-1]) if "Range" in self.headers else 0
            body = served.data[start:]
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(body)))
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(served.data) - 1}/{len(served.data)}")
            self.end_headers()
            self.wfile.write(body[: served.cuts.pop(0)] if served.cuts else body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the library's
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        served.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield served
        server.shutdown()
        thread.join()


def install(data: Path, hub: Hub, *arguments: str, name: str = "tiny") -> Result:
    return CliRunner().invoke(main, ["model", "install", name, "--data", str(data), "--hub", hub.url, *arguments])


def test_a_model_is_installed_into_the_data_folder_and_how_to_use_it_is_said(tmp_path: Path, hub: Hub) -> None:
    done = install(tmp_path, hub)
    assert done.exit_code == 0, done.output
    folder = tmp_path / "models" / "tiny"
    assert (folder / "model.onnx").read_bytes() == DATA
    assert json.loads((folder / "model.json").read_text())["name"] == "tiny"
    assert recipe_of(folder).name == "tiny"
    assert hub.asked == [("/someone/tiny/resolve/abc/onnx/model.onnx", "")]
    assert '"embed_model_dir": "models/tiny"' in done.stderr
    assert str(tmp_path / "options.json") in done.stderr
    assert done.stdout == f"{folder}\n"
    assert install(tmp_path, hub).stdout == done.stdout  # what is there is checked and left alone
    assert len(hub.asked) == 1


def test_a_pipe_gets_a_few_plain_lines(tmp_path: Path, hub: Hub) -> None:
    lines = install(tmp_path, hub).stderr.splitlines()
    shown = [line for line in lines if line.startswith("model.onnx: ")]
    assert shown[-1] == f"model.onnx: 100 % of {len(DATA)} bytes"
    assert len(shown) <= 11
    assert not any("\x1b" in line or "\r" in line for line in lines)


def test_a_download_that_breaks_off_goes_on_where_it_was(tmp_path: Path, hub: Hub) -> None:
    hub.cuts = [300_000, 100_000]
    assert install(tmp_path, hub).exit_code == 0
    assert [asked for _, asked in hub.asked] == ["", "bytes=300000-", "bytes=400000-"]


def test_wrong_bytes_end_the_command_with_one_line_and_no_model(tmp_path: Path, hub: Hub) -> None:
    hub.data = bytes(len(DATA))
    done = install(tmp_path, hub)
    assert done.exit_code == 1
    assert "is not the pinned file" in done.stderr.splitlines()[-1]
    assert not (tmp_path / "models" / "tiny" / "model.json").exists()


def test_another_folder_is_named_in_full(tmp_path: Path, hub: Hub) -> None:
    elsewhere = tmp_path / "elsewhere"
    done = install(tmp_path / "data", hub, "--to", str(elsewhere))
    assert (elsewhere / "model.onnx").exists()
    assert f'"embed_model_dir": "{elsewhere}"' in done.stderr


def test_an_unknown_model_is_a_usage_error_that_names_the_known(tmp_path: Path, hub: Hub) -> None:
    done = install(tmp_path, hub, name="huge")
    assert done.exit_code == 2
    assert "known are tiny" in done.stderr
    assert hub.asked == []


def test_the_list_says_what_is_there(tmp_path: Path, hub: Hub) -> None:
    shown = CliRunner().invoke(main, ["model", "list", "--data", str(tmp_path)]).stdout.splitlines()
    assert shown[0].startswith("all-MiniLM-L6-v2-int8  embedded")
    assert shown[1] == "tiny  1 MB, 4 dimensions, MIT; not installed"
    install(tmp_path, hub)
    shown = CliRunner().invoke(main, ["model", "list", "--data", str(tmp_path)]).stdout.splitlines()
    assert shown[1].endswith(f"installed in {tmp_path / 'models' / 'tiny'}")
