"""Thinking text, fences and broken JSON around an answer."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.llm.chat import ChatReply
from agent_memory.llm.errors import BadReply
from agent_memory.llm.replies import read_object, read_text, strip_thinking, unfence

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs")))
    | st.sampled_from(["```", "```json\n{}\n```", "<think>no</think>", "</think>"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.dictionaries(st.text("abc", max_size=3), values, max_size=3),
    st.sampled_from(["%s", "```json\n%s\n```", "~~~\n%s\n~~~", "<think>{</think>\n%s"]),
)
def test_an_object_is_read_the_same_bare_fenced_or_after_thinking(value: dict[str, object], frame: str) -> None:
    assert read_object(ChatReply(frame % json.dumps(value))) == value


@given(st.text(max_size=200), st.booleans())
def test_any_text_is_an_object_or_a_bad_reply(text: str, truncated: bool) -> None:
    with suppress(BadReply):
        assert isinstance(read_object(ChatReply(text, truncated)), dict)


@given(st.text(max_size=300))
def test_a_read_text_can_be_stored(text: str) -> None:
    with suppress(BadReply):
        read_text(ChatReply(text)).encode("utf-8")


def test_a_lone_surrogate_inside_json_becomes_storable() -> None:
    assert read_object(ChatReply('{"a": ["\\ud800x"], "\\u0000": 1}')) == {"a": ["\ufffdx"], "\ufffd": 1}


def test_a_truncated_reply_says_that_it_was_cut() -> None:
    with pytest.raises(BadReply, match="cut off at the output cap"):
        read_object(ChatReply('{"memories": [{"type": "fact", "ti', truncated=True))


@pytest.mark.parametrize("text", ["[1, 2]", '"text"', "3"])
def test_json_of_another_shape_is_named(text: str) -> None:
    with pytest.raises(BadReply, match="not an object"):
        read_object(ChatReply(text))


def test_deeply_nested_json_is_a_bad_reply() -> None:
    with pytest.raises(BadReply):
        read_object(ChatReply('{"a":' + "[" * 100_000))


def test_a_reply_that_never_stops_thinking_is_a_bad_reply() -> None:
    with pytest.raises(BadReply, match="thinking text"):
        strip_thinking("<think>first I should")


def test_text_that_talks_about_fences_inside_json_stays_whole() -> None:
    text = json.dumps({"content": "write\n```json\n{}\n```\nthen"})
    assert read_object(ChatReply(text))["content"].startswith("write")


def test_several_fences_are_left_alone() -> None:
    text = "```\na\n```\n```\nb\n```"
    assert unfence(text) == text


def test_what_follows_the_end_of_a_turn_is_no_answer() -> None:
    assert read_text(ChatReply("It is 72 h.<|im_end|>\n<|im_start|>user next")) == "It is 72 h."
    with pytest.raises(BadReply, match="empty"):
        read_text(ChatReply("<|im_start|>user <|im_end|>"))
