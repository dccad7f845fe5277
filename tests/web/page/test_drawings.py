"""Drawings are well-formed pictures whatever words are put in, and stay inside their frame."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.web.page.drawings import HEIGHT, HOUR_WIDTH, Part, Series, bar, columns, dot
from support.page import HOSTILE

names = st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S"))))
parts = st.lists(st.builds(Part, names, st.integers(0, 10**6), st.just("active")), max_size=6)


def tags(root: ElementTree.Element) -> set[str]:
    return {element.tag for element in root.iter()}


@given(names, parts)
def test_a_bar_is_xml_with_nothing_but_its_own_elements(name: str, given_parts: list[Part]) -> None:
    root = ElementTree.fromstring(bar(name, given_parts, of=sum(part.value for part in given_parts)))
    assert tags(root) <= {"svg", "rect", "title"}
    assert root.attrib["aria-label"].startswith(name)
    drawn = [part for part in given_parts if part.value]
    assert [title.text for title in root.iter("title")] == [f"{part.label}: {part.value}" for part in drawn]


@given(parts)
def test_parts_follow_each_other_and_fill_what_they_are_of(given_parts: list[Part]) -> None:
    whole = sum(part.value for part in given_parts)
    rects = list(ElementTree.fromstring(bar("x", given_parts, of=whole)))[1:]
    edge = 0.0
    for rect in rects:
        assert float(rect.attrib["x"]) == pytest.approx(edge, abs=0.02)
        edge = float(rect.attrib["x"]) + float(rect.attrib["width"])
    if rects:
        assert 99.9 <= edge <= 100 + 0.8 * len(rects) + 0.02  # a sliver is drawn for the smallest


@given(
    st.lists(st.builds(Series, names, st.tuples(*[st.integers(0, 500)] * 4), st.just("1")), max_size=8),
    st.lists(names, min_size=4, max_size=4),
)
def test_columns_are_xml_and_stay_in_their_frame(series: list[Series], times: list[str]) -> None:
    root = ElementTree.fromstring(columns("Audit", times, series))
    assert tags(root) <= {"svg", "g", "rect", "title"}
    for rect in root.iter("rect"):
        assert 0 <= float(rect.attrib["x"]) <= 4 * HOUR_WIDTH
        assert float(rect.attrib["y"]) >= -0.8 * len(series) - 0.1
        assert float(rect.attrib["y"]) + float(rect.attrib["height"]) <= HEIGHT + 0.2


def test_the_highest_column_fills_the_height_and_the_words_say_the_numbers() -> None:
    series = [Series("store", (3, 0), "1"), Series("forget", (1, 2), "2")]
    root = ElementTree.fromstring(columns("Audit", ["07:00", "08:00"], series))
    assert root.attrib["aria-label"] == "Audit: 6 in all, at most 4 in one hour"
    first, second = root.findall("g")
    assert [rect.attrib["height"] for rect in first.findall("rect")] == ["75.0", "25.0"]
    assert first.findtext("title") == "07:00: store 3, forget 1"
    assert second.findtext("title") == "08:00: forget 2"


def test_nothing_is_drawn_of_nothing() -> None:
    assert len(list(ElementTree.fromstring(bar("x", [], of=0)))) == 1
    assert not list(ElementTree.fromstring(columns("x", [], [])))
    assert ElementTree.fromstring(dot("good"))[0].attrib["class"] == "tone-good"
