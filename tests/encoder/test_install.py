"""A model gets its name only when every byte is the pinned one, however often the connection breaks."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
import trio

from agent_memory.encoder import install as module
from agent_memory.encoder.catalogue import MODELS, Model, ModelFile, Recipe, model_named, recipe_of
from agent_memory.encoder.install import InstallFailed, install
from tests.encoder.conftest import Request, StandIn, reply

DATA = bytes(range(256)) * 40
SHA = hashlib.sha256(DATA).hexdigest()
MODEL = Model(
    Recipe("tiny", width=4, max_tokens=8, pooling="mean", weights_sha256=SHA),
    repository="someone/tiny",
    revision="abc",
    licence="MIT",
    files=(ModelFile("onnx/model.onnx", "model.onnx", len(DATA), SHA),),
)


def serving(data: bytes, *, cut: Callable[[int], int] | None = None, ranges: bool = True) -> Callable[..., object]:
    """A file server; `cut` gives, by the number of the request, after how many bytes the connection breaks."""
    count = 0

    async def answer(request: Request, stream: trio.SocketStream) -> None:
        nonlocal count
        count += 1
        start = int(request.headers["range"][6:-1]) if ranges and "range" in request.headers else 0
        body = data[start:]
        status = "206 X" if start else "200 X"
        where = f"Content-Range: bytes {start}-{len(data) - 1}/{len(data)}\r\n" if start else ""
        await stream.send_all(f"HTTP/1.1 {status}\r\n{where}Content-Length: {len(body)}\r\n\r\n".encode())
        await stream.send_all(body[: cut(count)] if cut else body)

    return answer


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_PAUSE_S", 0.001)
    monkeypatch.setattr(module, "MAX_PAUSE_S", 0.001)


async def test_a_model_is_downloaded_from_its_pinned_revision(
    stand_in: StandIn, client: httpx.AsyncClient, tmp_path: Path
) -> None:
    stand_in.answer = serving(DATA)  # type: ignore[assignment]
    seen: list[tuple[str, int, int]] = []
    folder = await install(MODEL, tmp_path / "tiny", client, hub=stand_in.url, progress=lambda *at: seen.append(at))
    assert stand_in.seen[0].path == "/someone/tiny/resolve/abc/onnx/model.onnx"
    assert (folder / "model.onnx").read_bytes() == DATA
    assert json.loads((folder / "model.json").read_text()) == {"name": "tiny", "revision": "abc"}
    assert seen[-1] == ("model.onnx", len(DATA), len(DATA))
    assert [path.name for path in sorted(folder.iterdir())] == ["model.json", "model.onnx"]


async def test_a_cut_download_goes_on_where_it_stopped(
    stand_in: StandIn, client: httpx.AsyncClient, tmp_path: Path
) -> None:
    stand_in.answer = serving(DATA, cut=lambda n: 3000)  # type: ignore[assignment]
    folder = await install(MODEL, tmp_path / "tiny", client, hub=stand_in.url)
    assert (folder / "model.onnx").read_bytes() == DATA
    starts = [request.headers.get("range") for request in stand_in.seen]
    assert starts == [None, "bytes=3000-", "bytes=6000-", "bytes=9000-"]


async def test_a_server_without_ranges_sends_everything_again(
    stand_in: StandIn, client: httpx.AsyncClient, tmp_path: Path
) -> None:
    stand_in.answer = serving(DATA, cut=lambda n: 3000 if n == 1 else 10**6, ranges=False)  # type: ignore[assignment]
    folder = await install(MODEL, tmp_path / "tiny", client, hub=stand_in.url)
    assert (folder / "model.onnx").read_bytes() == DATA


async def test_passing_trouble_is_retried_and_lasting_trouble_reported(
    stand_in: StandIn, client: httpx.AsyncClient, tmp_path: Path
) -> None:
    good = serving(DATA)

    async def flaky(request: Request, stream: trio.SocketStream) -> None:
        if len(stand_in.seen) < 3:
            await reply(stream, b"", 503)
        else:
            await good(request, stream)  # type: ignore[misc]

    stand_in.answer = flaky
    await install(MODEL, tmp_path / "a", client, hub=stand_in.url)
    stand_in.answer = serving(DATA, cut=lambda n: 0)  # type: ignore[assignment]
    with pytest.raises(InstallFailed, match="start again"):
        await install(MODEL, tmp_path / "b", client, hub=stand_in.url)


async def test_a_missing_file_is_not_asked_for_again(
    stand_in: StandIn, client: httpx.AsyncClient, tmp_path: Path
) -> None:
    async def missing(request: Request, stream: trio.SocketStream) -> None:
        await reply(stream, b"", 404)

    stand_in.answer = missing
    with pytest.raises(InstallFailed, match="404"):
        await install(MODEL, tmp_path, client, hub=stand_in.url)
    assert len(stand_in.seen) == 1


@pytest.mark.parametrize("sent", [DATA[:-1] + b"x", DATA + b"more"])
async def test_wrong_bytes_never_get_the_files_name(
    stand_in: StandIn, client: httpx.AsyncClient, tmp_path: Path, sent: bytes
) -> None:
    stand_in.answer = serving(sent)  # type: ignore[assignment]
    with pytest.raises(InstallFailed):
        await install(MODEL, tmp_path, client, hub=stand_in.url)
    assert not (tmp_path / "model.onnx").exists()
    assert not (tmp_path / "model.json").exists()
    stand_in.answer = serving(DATA)  # type: ignore[assignment]
    await install(MODEL, tmp_path, client, hub=stand_in.url)


async def test_a_mismatching_file_that_is_there_is_left_alone(
    stand_in: StandIn, client: httpx.AsyncClient, tmp_path: Path
) -> None:
    (tmp_path / "model.onnx").write_bytes(b"mine")
    with pytest.raises(InstallFailed, match="move it away"):
        await install(MODEL, tmp_path, client, hub=stand_in.url)
    assert (tmp_path / "model.onnx").read_bytes() == b"mine"
    assert stand_in.seen == []


async def test_a_complete_model_is_not_downloaded_again(
    stand_in: StandIn, client: httpx.AsyncClient, tmp_path: Path
) -> None:
    (tmp_path / "model.onnx").write_bytes(DATA)
    await install(MODEL, tmp_path, client, hub=stand_in.url)
    assert stand_in.seen == []


def test_every_model_of_the_table_is_pinned_to_the_byte() -> None:
    for model in MODELS:
        assert len(model.revision) == 40
        assert model.recipe.weights_sha256 in {file.sha256 for file in model.files}
        assert all(len(file.sha256) == 64 and file.size > 0 for file in model.files)
        assert {model.recipe.weights, model.recipe.tokenizer} <= {file.name for file in model.files}
        assert model_named(model.recipe.name) is model
    with pytest.raises(ValueError, match="bge-small"):
        model_named("nothing")


def test_a_manifest_names_a_known_model_or_spells_out_its_own(tmp_path: Path) -> None:
    def written(content: object) -> Path:
        (tmp_path / "model.json").write_text(json.dumps(content))
        return tmp_path

    assert recipe_of(written({"name": "multilingual-e5-small"})).width == 384
    own = {"name": "own", "width": 8, "max_tokens": 16, "pooling": "mean", "weights_sha256": "ab"}
    assert recipe_of(written(own)).max_tokens == 16
    for bad in (
        {"name": "nothing"},
        {**own, "weights_sha256": ""},
        {**own, "pooling": "last"},
        {**own, "extra": 1},
        {**own, "record_template": "{body}"},
        {"name": "own", "width": 8},
        [],
    ):
        with pytest.raises(ValueError, match="model"):
            recipe_of(written(bad))
    with pytest.raises(ValueError, match=r"model\.json"):
        recipe_of(tmp_path / "nowhere")
