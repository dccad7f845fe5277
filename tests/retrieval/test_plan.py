"""A query becomes the terms that matter, with mistakes put right and other languages added."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.retrieval.concepts import Concepts, shipped_concepts
from agent_memory.retrieval.plan import Planner
from agent_memory.retrieval.vocabulary import Vocabulary
from agent_memory.store.stems import Stemmer

STEMMER = Stemmer()


def vocabulary(text: str, **more: int) -> Vocabulary:
    return Vocabulary([(stem, 1) for stem in set(STEMMER.stems(text))] + list(more.items()))


def planner(known: Vocabulary, **options: object) -> Planner:
    return Planner(STEMMER, known, **options)  # type: ignore[arg-type]


def test_terms_that_a_fifth_of_the_records_hold_are_dropped_while_a_rarer_one_is_left() -> None:
    plan = planner(vocabulary("broker", server=30)).plan("server broker", 100)
    assert plan.match == '"broker"'
    assert planner(vocabulary("", server=30)).plan("server", 100).match == '"server"'


def test_a_large_store_is_asked_for_the_rarest_terms_only() -> None:
    known = Vocabulary([("rare", 20_000), ("medium", 10_500), ("often", 90_000)])
    assert planner(known).plan("often rare medium nothing", 1_000_000).match == '"medium" OR "nothing"'
    assert planner(known).plan("often", 1_000_000).match == '"often"'


def test_a_term_that_nothing_holds_stays_in_the_query() -> None:
    assert '"newword"' in planner(vocabulary("broker")).plan("newword broker", 100).match


def test_a_mistyped_word_is_read_as_the_one_it_was_meant_to_be() -> None:
    plan = planner(vocabulary("preview environments quota")).plan("preveiw enviroments qouta", 100)
    assert plan.text == "preview environments quota"
    assert plan.corrected[0] == ("preveiw", "preview")
    assert '"preveiw"' in plan.match
    assert '"preview"' in plan.match


def test_the_share_of_unknown_words_leaves_out_what_was_put_right() -> None:
    known = planner(vocabulary("preview quota"), known_words=frozenset({"snowflake"}))
    assert known.plan("preveiw snowflake", 100).unknown == 0.5
    assert known.plan("", 100).unknown == 0.0


def test_a_word_that_is_spelt_right_is_not_corrected() -> None:
    known = planner(vocabulary("broken window"), known_words=frozenset({"widow"}))
    assert known.plan("widow", 100).corrected == ()
    assert planner(vocabulary("broken window")).plan("widow", 100).corrected == (("widow", "window"),)


@pytest.mark.parametrize("word", ["POL-358", "v1.2.3", "40031", "hp12j"])
def test_codes_and_numbers_are_never_corrected(word: str) -> None:
    plan = planner(vocabulary("pol-359 v1.2.4 40032 hp12k")).plan(word, 100)
    assert plan.corrected == ()


def test_german_compounds_are_found_by_their_parts() -> None:
    known = vocabulary("Heizungspumpe Pumpentausch")
    assert '"heizungspump"' in planner(known).plan("Pumpe", 100).match
    assert '"heizungspump"' in planner(known).plan("Heizung", 100).match


def test_a_word_that_records_hold_is_looked_up_in_true_compounds_too_where_notes_are_german() -> None:
    known = vocabulary("Pumpe Heizung Heizungspumpe Krumpumpe und der nicht")
    match = planner(known, known_words=frozenset({"pump"})).plan("Pumpe", 100).match
    assert '"heizungspump"' in match
    assert '"krumpump"' not in match
    english = vocabulary("Pumpe Heizung Heizungspumpe Krumpumpe")
    assert planner(english).plan("Pumpe", 100).match == '"Pumpe"'


def test_ideas_are_looked_up_in_the_languages_of_the_index() -> None:
    concepts = Concepts(["error, fault | Störung | fallo | falha | panne | 故障 | 障害"], STEMMER.stems)
    plan = planner(vocabulary("Störung und der nicht 故障 障 害"), concepts=concepts).plan("a fault in the pump", 100)
    assert plan.translated == '"Störung" OR ("故障")'
    back = planner(vocabulary("error"), concepts=concepts).plan("Störung der Pumpe", 100)
    assert back.translated == '"error"'
    assert planner(vocabulary("error"), concepts=concepts).plan("故障", 100).translated == '"error"'


def test_a_language_that_no_note_is_written_in_is_left_out() -> None:
    concepts = Concepts(["error, fault | Störung | fallo | falha | panne | 故障 | 障害"], STEMMER.stems)
    plan = planner(vocabulary("Störung panne und der nicht"), concepts=concepts).plan("a fault in the pump", 100)
    assert plan.translated == '"Störung"'


def test_an_english_word_is_taken_for_english_and_never_brought_up_by_its_foreign_twin() -> None:
    concepts = Concepts(
        ["day, date | Tag | día | data", "data | Daten", "decision | Wahl | x | x | décision"], STEMMER.stems
    )
    known = vocabulary("day date Daten decision und der nicht les une est")
    plans = planner(known, concepts=concepts, known_words=frozenset({"data", "decision"}))
    assert plans.plan("data", 100).translated == '"Daten"'
    assert plans.plan("Wahl", 100).translated == '"decision"'


def test_without_a_table_nothing_is_translated() -> None:
    assert planner(vocabulary("Störung")).plan("fault", 100).translated == ""


def test_the_shipped_table_has_seven_columns_and_no_word_twice_in_one() -> None:
    concepts = shipped_concepts(STEMMER.stems)
    assert len(concepts) > 100
    assert all(len(idea) == 7 for idea in concepts._ideas)
    assert all(len({e.text for e in cell}) == len(cell) for idea in concepts._ideas for cell in idea)


@given(st.text(), st.integers(0, 3))
def test_any_query_has_a_plan(query: str, records: int) -> None:
    plan = planner(vocabulary("broker störung"), concepts=shipped_concepts(STEMMER.stems)).plan(query, records)
    assert plan.ideal >= 0
    plan.match.encode("utf-8")
    plan.text.encode("utf-8")
