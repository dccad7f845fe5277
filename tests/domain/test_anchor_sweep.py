"""What a sweep concludes from Home Assistant's answers, and above all what it does not."""

import time
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.domain.anchor_sweep import Sweep, entities_in, sweep
from agent_memory.domain.anchors import AnchorState

EARLY, NOW = datetime(2026, 11, 29, tzinfo=UTC), datetime(2026, 11, 30, tzinfo=UTC)
SOMETHING = frozenset({"sun.sun"})


def state_of(*entity_ids: str) -> list[dict[str, Any]]:
    return [{"entity_id": entity_id, "state": "unavailable", "attributes": {}} for entity_id in entity_ids]


def one(before: AnchorState, present: frozenset[str] | None) -> Sweep[str]:
    return sweep({"a": ("light.kitchen", before)}, present, NOW)


def test_a_list_of_states_names_its_entities_whatever_their_states() -> None:
    assert entities_in(200, state_of("sun.sun", "light.kitchen")) == {"sun.sun", "light.kitchen"}


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (None, None),
        (401, state_of("sun.sun")),
        (502, "502: Bad Gateway"),
        (503, []),
        (200, {"result": "error", "message": "System is not ready"}),
        (200, "<html>"),
        (200, None),
        (200, []),
        (200, ["sun.sun"]),
        (200, [*state_of("sun.sun"), {"state": "on"}]),
        (200, [*state_of("sun.sun"), {"entity_id": 5}]),
        (206, state_of("sun.sun")),
    ],
)
def test_any_other_answer_says_nothing_about_any_entity(status: int | None, body: object) -> None:
    assert entities_in(status, body) is None


def test_an_unreachable_home_assistant_makes_nothing_missing() -> None:
    for before in (AnchorState(), AnchorState("ok"), AnchorState("missing"), AnchorState("ok", misses=1)):
        result = one(before, None)
        assert result.changes["a"].after == AnchorState(before.state, NOW, before.misses)
        assert not result.changes["a"].advances
        assert (result.checked, result.changed, result.unavailable) == (0, 0, 1)


def test_a_listed_entity_is_ok() -> None:
    result = one(AnchorState(), frozenset({"light.kitchen"}))
    assert result.changes["a"].after == AnchorState("ok")
    assert (result.checked, result.changed, result.unavailable) == (1, 1, 0)


def test_the_first_miss_is_not_definitive_and_the_second_is() -> None:
    first = one(AnchorState("ok"), SOMETHING)
    assert first.changes["a"].after == AnchorState("ok", misses=1)
    assert (first.changes["a"].observation, first.changed) == (None, 0)
    second = one(first.changes["a"].after, SOMETHING)
    assert second.changes["a"].after == AnchorState("missing")
    assert (second.changes["a"].observation, second.changed) == ("missing", 1)


def test_an_entity_never_seen_also_takes_two_misses() -> None:
    first = one(AnchorState(), SOMETHING).changes["a"].after
    assert first.state == "unchecked"
    second = one(first, SOMETHING).changes["a"]
    assert (second.after.state, second.observation, second.advances) == ("missing", None, True)


def test_an_entity_found_between_two_misses_starts_the_count_again() -> None:
    once = one(AnchorState("ok"), SOMETHING).changes["a"].after
    found = one(once, frozenset({"light.kitchen"})).changes["a"].after
    assert found == AnchorState("ok")


def test_an_unavailable_sweep_between_two_misses_neither_counts_nor_forgives() -> None:
    once = one(AnchorState("ok"), SOMETHING).changes["a"].after
    away = one(once, None).changes["a"].after
    assert (away.state, away.misses, away.unavailable_since) == ("ok", 1, NOW)
    assert one(away, SOMETHING).changes["a"].after == AnchorState("missing")


def test_a_miss_ends_unavailability() -> None:
    assert one(AnchorState("ok", EARLY), SOMETHING).changes["a"].after == AnchorState("ok", None, 1)


def test_a_missing_entity_that_is_still_missing_changes_nothing() -> None:
    assert one(AnchorState("missing"), SOMETHING).changes == {}


@given(st.lists(st.sampled_from([None, SOMETHING, frozenset({"light.kitchen"})]), max_size=12))
def test_missing_always_needs_two_answers_without_the_entity(answers: list[frozenset[str] | None]) -> None:
    state, absent_in_a_row = AnchorState("ok"), 0
    for present in answers:
        changes = one(state, present).changes
        state = changes["a"].after if changes else state
        if present is not None:
            absent_in_a_row = 0 if "light.kitchen" in present else absent_in_a_row + 1
        assert (state.state == "missing") == (absent_in_a_row >= 2)


def test_ten_thousand_entities_are_judged_well_within_a_second() -> None:
    body = state_of(*(f"sensor.s{i}" for i in range(10_000)))
    anchors = {i: (f"sensor.s{i * 2}", AnchorState("ok", misses=1)) for i in range(10_000)}
    start = time.perf_counter()
    result = sweep(anchors, entities_in(200, body), NOW)
    assert time.perf_counter() - start < 0.5
    assert (result.checked, result.changed) == (10_000, 5_000)
