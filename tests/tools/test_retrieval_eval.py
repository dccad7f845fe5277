"""The figures of the retrieval eval are what their definitions say, and its plot is a drawing whatever the names."""

import json
import math
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "retrieval-eval"


@pytest.fixture(autouse=True)
def on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TOOL))
    for name in ("measure", "plot", "sets", "engine"):
        sys.modules.pop(name, None)


def test_figures_of_one_ranking() -> None:
    from measure import score

    figures = score("q", "k", ["x", "a", "y", "b"], ["a", "b", "c"]).figures
    assert figures["MRR"] == 0.5
    assert figures["recall@1"] == 0.0
    assert figures["recall@5"] == pytest.approx(2 / 3)
    ideal = 1 + 1 / math.log2(3) + 1 / 2
    assert figures["nDCG@10"] == pytest.approx((1 / math.log2(3) + 1 / math.log2(5)) / ideal)
    assert score("q", "k", [], ["a"]).figures["MRR"] == 0.0


def test_a_paired_difference_has_its_mean_inside_its_interval() -> None:
    from measure import paired, score

    base = [score(str(n), "k", ["x", "a"], ["a"]) for n in range(20)]
    better = [score(str(n), "k", ["a"] if n % 2 else ["x", "a"], ["a"]) for n in range(20)]
    gain = paired(better, base, "MRR")
    assert gain.low < gain.mean == 0.25 < gain.high
    assert str(paired(base, base, "MRR")) == "+0.000 [+0.000, +0.000]"


def test_the_plot_parses_with_hostile_names() -> None:
    from measure import score
    from plot import draw

    name = '<script>&"'
    svg = draw(name, {name: [score("q", name, ["a"], ["a"])]}, "MRR")
    root = ElementTree.fromstring(svg)
    assert root.tag.endswith("svg")
    assert not [element for element in root.iter() if element.tag.endswith("script")]


def test_the_frozen_set_is_whole() -> None:
    from sets import load_coding

    coding = load_coding()
    ids = {record.id for record in coding.records}
    assert (len(coding.records), len(coding.queries)) == (420, 156)
    assert all(set(query.relevant) <= ids for query in coding.queries)


def test_a_conversation_is_read_as_turns_with_their_sessions(tmp_path: Path) -> None:
    from sets import load_locomo

    turn = {"speaker": "Ann", "dia_id": "D1:1", "text": "Look!", "blip_caption": "a lake"}
    asked = {"question": "What?", "answer": "x", "evidence": ["D1:1"], "category": 1}
    data = {"session_1_date_time": "1 May", "session_1": [turn], "qa": [asked, {**asked, "category": 5}]}
    (tmp_path / "99.json").write_text(json.dumps(data))
    found = load_locomo(tmp_path / "99.json")
    assert found.records[0].text == "Ann 1 May\nLook! [shares a lake]"
    assert (found.records[0].session, found.records[0].position) == ("session 1", 0)
    assert [query.relevant for query in found.queries] == [("00000:D1:1",)]


def test_the_products_full_text_ranking_of_the_frozen_set_holds_its_level() -> None:
    """Without the encoder, so that it stays quick: a change of terms, plan or weights that costs shows here."""
    from engine import Engine
    from measure import mean, score
    from sets import load_coding

    from agent_memory.encoder.textmodel import shipped_vocabulary
    from agent_memory.retrieval.concepts import shipped_concepts
    from agent_memory.store.stems import Stemmer

    coding, stemmer = load_coding(), Stemmer()
    known = frozenset(shipped_vocabulary())
    engine = Engine(coding, None, concepts=shipped_concepts(stemmer.stems), known_words=known, stemmer=stemmer)
    scored = [
        score(query.id, query.kind, [hit.id for hit in engine.ranked(query, None, "fts5", 50)[0]], query.relevant)
        for query in coding.queries
        if query.relevant
    ]
    assert mean(scored, "MRR") > 0.79
    assert mean(scored, "recall@5") > 0.87
