"""The seed's Anchors section: what an anchor may be, and what a report does."""

import itertools
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.domain.anchors import Anchor, AnchorState, Seen, apply_report, parse, parse_all
from agent_memory.domain.errors import InvalidArgument, SecretRefused

EARLY, NOW = datetime(2026, 11, 29, tzinfo=UTC), datetime(2026, 11, 30, tzinfo=UTC)


def is_credential_name(name: str) -> bool:
    return name in {"access_token", "apiKey", "session_id"}


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("entity:light.kitchen", "entity:light.kitchen"),
        (" Entity: Light.Kitchen_2 ", "entity:light.kitchen_2"),
        ("path:src/app.py", "path:src/app.py"),
        ("path:/etc/hosts", "path:/etc/hosts"),
        (r"path:C:\code\app.py", r"path:C:\code\app.py"),
        ("path:docs/a b.md", "path:docs/a b.md"),
        ("path:..hidden/x", "path:..hidden/x"),
        ("host:NAS.local", "host:nas.local"),
        ("host:nas:22", "host:nas:22"),
        ("host:192.168.1.5:0080", "host:192.168.1.5:80"),
        ("host:FD00::5", "host:fd00::5"),
        ("host:[fd00::5]:22", "host:[fd00::5]:22"),
        ("url:https://example.org/a?page=2#part", "url:https://example.org/a?page=2#part"),
        ("url:http://nas:8123/x?author=me&session_count=3", "url:http://nas:8123/x?author=me&session_count=3"),
        ("url:https://example.org/docs#access_token", "url:https://example.org/docs#access_token"),
    ],
)
def test_each_kind_of_anchor_has_one_spelling(text: str, canonical: str) -> None:
    anchor = parse(text, is_credential_name)
    assert str(anchor) == canonical
    assert parse(canonical, is_credential_name) == anchor


@pytest.mark.parametrize(
    "text",
    [
        "",
        "light.kitchen",
        "file:/x",
        "entity:",
        "entity:kitchen",
        "entity:light.",
        "entity:light.kit__chen",
        "entity:_light.kitchen",
        "entity:light.kitchen.two",
        "entity:light.küche",
        "entity:light.kitchen\nx",
        "path:../x",
        "path:a/../../x",
        r"path:a\..\x",
        "path:a\x00b",
        "host:",
        "host:a b",
        "host:nas:0",
        "host:nas:65536",
        "host:nas:22:22",
        "host:[nas]:22",
        "host:http://nas",
        "host:me@nas",
        "host:-x",
        "url:example.org",
        "url:ftp://example.org/x",
        "url:https://",
        "url:https://h:port/",
        "url:https://[::1/",
        "url:javascript:alert(1)",
        "url:https://example.org/a b",
        "url:https://example.org/" + "x" * 1024,
    ],
)
def test_what_is_no_anchor_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument, match=r"^anchors: "):
        parse(text, is_credential_name)


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("url:https://me:zqsecret@example.org/", "url-userinfo"),
        ("url:https://zqsecret@example.org/", "url-userinfo"),
        ("url:ftp://me:zqsecret@example.org/", "url-userinfo"),
        ("url:https://example.org/?access_token=zqsecret", "url-credential-parameter"),
        ("url:https://example.org/?a=1&apiKey=zqsecret", "url-credential-parameter"),
        ("url:https://example.org/?a=1;apiKey=zqsecret", "url-credential-parameter"),
        ("url:https://example.org/?access%5Ftoken=zqsecret", "url-credential-parameter"),
        ("url:https://example.org/#access_token=zqsecret", "url-credential-parameter"),
        ("url:https://example.org/#/route?session_id=zqsecret", "url-credential-parameter"),
    ],
)
def test_a_url_that_carries_a_credential_is_refused_by_the_screens_words(text: str, pattern: str) -> None:
    with pytest.raises(SecretRefused) as caught:
        parse(text, is_credential_name)
    assert caught.value.pattern == pattern
    assert "zqsecret" not in str(caught.value)


def test_sixteen_anchors_are_the_most_and_each_counts_once() -> None:
    assert parse_all(["host:a", "host:A", "path:a"], is_credential_name) == (Anchor("host", "a"), Anchor("path", "a"))
    assert len(parse_all([f"host:h{i}" for i in range(16)], is_credential_name)) == 16
    with pytest.raises(InvalidArgument, match="17 anchors; allowed are 16"):
        parse_all([f"host:h{i}" for i in range(17)], is_credential_name)


@given(st.text(max_size=60), st.sampled_from(["", "entity:", "path:", "host:", "url:", "url:https://"]))
def test_any_text_is_read_or_refused_and_a_read_one_is_stable(text: str, prefix: str) -> None:
    try:
        anchor = parse(prefix + text, is_credential_name)
    except (InvalidArgument, SecretRefused):
        return
    assert parse(str(anchor), is_credential_name) == anchor


def test_a_first_answer_changes_the_state_and_files_nothing() -> None:
    for seen in ("ok", "missing"):
        change = apply_report(AnchorState(), seen, NOW)  # type: ignore[arg-type]
        assert (change.after, change.observation, change.advances) == (AnchorState(seen), None, True)  # type: ignore[arg-type]


def test_a_swap_between_ok_and_missing_files_one_observation() -> None:
    lost = apply_report(AnchorState("ok"), "missing", NOW)
    assert (lost.after.state, lost.observation, lost.advances) == ("missing", "missing", True)
    found = apply_report(lost.after, "ok", NOW)
    assert (found.after.state, found.observation, found.advances) == ("ok", "ok", True)


def test_the_same_answer_again_changes_nothing() -> None:
    for state in (AnchorState("ok"), AnchorState("missing")):
        change = apply_report(state, state.state, NOW)  # type: ignore[arg-type]
        assert (change.after, change.observation, change.advances) == (state, None, False)


def test_unavailable_keeps_the_state_files_nothing_and_remembers_since_when() -> None:
    for state in ("unchecked", "ok", "missing"):
        change = apply_report(AnchorState(state), "unavailable", EARLY)  # type: ignore[arg-type]
        assert change.after == AnchorState(state, EARLY)  # type: ignore[arg-type]
        assert (change.observation, change.advances) == (None, False)
        assert apply_report(change.after, "unavailable", NOW).after.unavailable_since == EARLY


def test_a_definitive_answer_ends_unavailability_without_a_new_revision_when_nothing_changed() -> None:
    change = apply_report(AnchorState("ok", EARLY), "ok", NOW)
    assert (change.after, change.advances) == (AnchorState("ok"), False)


def test_a_swap_is_noticed_across_unavailability() -> None:
    away = apply_report(AnchorState("ok"), "unavailable", EARLY).after
    assert apply_report(away, "missing", NOW).observation == "missing"


@given(st.lists(st.sampled_from(["ok", "missing", "unavailable"]), max_size=30))
def test_observations_are_as_many_as_the_swaps_among_definitive_answers(reports: list[Seen]) -> None:
    state, filed, advanced = AnchorState(), [], 0
    for seen in reports:
        change = apply_report(state, seen, NOW)
        state = change.after
        advanced += change.advances
        filed += [change.observation] if change.observation else []
    definitive = [seen for seen in reports if seen != "unavailable"]
    swaps = [after for before, after in itertools.pairwise(definitive) if before != after]
    assert filed == swaps
    assert advanced == len(swaps) + bool(definitive)
    assert state.state == (definitive[-1] if definitive else "unchecked")
