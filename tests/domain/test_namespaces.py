"""Which namespaces exist, which a remote or a name becomes, and what each may reach."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.domain.errors import InvalidArgument
from agent_memory.domain.namespaces import (
    ForgeRules,
    Scopes,
    check_renames,
    from_name,
    from_remote,
    rename,
    retrieval_order,
    topic_scopes,
    validate,
)

OPEN = ForgeRules()
FORGES = ForgeRules(forge_hosts=("git.example.org", "192.168.1.20"))


def refusal(*args: object, of: object) -> str:
    with pytest.raises(InvalidArgument) as caught:
        of(*args)  # type: ignore[operator]
    return str(caught.value)


def test_a_github_remote_becomes_its_owner_and_repository() -> None:
    assert from_remote("git@github.com:Octo/Widgets.git", OPEN) == "github/octo/widgets"
    assert from_remote("ssh://git@ssh.github.com:443/octo/widgets.git", OPEN) == "github/octo/widgets"


@pytest.mark.parametrize(
    "remote",
    [
        "https://git.example.org:3000/Team/App.git",
        "ssh://git@git.example.org:2222/team/app",
        "git@git.example.org:team/app.git",
        "https://www.git.example.org/team/app",
        "http://192.168.1.20:3000/team/app.git",
    ],
)
def test_a_configured_forge_host_becomes_gitea_whatever_the_port(remote: str) -> None:
    assert from_remote(remote, FORGES) == "gitea/team/app"


def test_another_host_is_refused_with_the_hosts_that_are_allowed() -> None:
    text = refusal("https://user:zqsecret@gitlab.com/o/r.git", FORGES, of=from_remote)
    assert "github.com, git.example.org, 192.168.1.20" in text
    assert "forge_hosts" in text
    assert "zqsecret" not in text


def test_a_host_that_only_ends_like_github_is_another_host() -> None:
    for host in ("notgithub.com", "github.com.evil.org", "gist.github.com", "www.www.github.com"):
        assert "allowed" in refusal(f"https://{host}/o/r", OPEN, of=from_remote)


def test_an_owner_outside_the_narrowing_is_refused_with_the_option_that_says_so() -> None:
    narrow = ForgeRules(github_owner="Octo", forge_hosts=("git.example.org",), forge_owner="team")
    assert from_remote("git@github.com:octo/a", narrow) == "github/octo/a"
    assert from_remote("git@git.example.org:Team/a", narrow) == "gitea/team/a"
    assert "only repositories of Octo" in refusal("git@github.com:octopus/a", narrow, of=from_remote)
    assert "github_owner" in refusal("git@github.com:octopus/a", narrow, of=from_remote)
    assert "forge_owner" in refusal("git@git.example.org:octo/a", narrow, of=from_remote)


def test_a_project_without_a_remote_is_local() -> None:
    assert from_name("Home Lab") == "local/home-lab"
    assert from_name("  büro ") == "local/büro"
    assert from_name("日本語") == "local/日本語"


@pytest.mark.parametrize("name", ["", " ", "a/b", "..", ".", "a\x00b", "x" * 155, "a:b", "\ud800"])
def test_a_name_that_is_not_one_segment_is_refused(name: str) -> None:
    assert refusal(name, of=from_name).startswith("name: ")


@pytest.mark.parametrize(
    ("given_", "canonical"),
    [
        ("github/Octo/Widgets", "github/octo/widgets"),
        ("gitea/team/app", "gitea/team/app"),
        ("projects/Home", "projects/home"),
        ("topics/trio", "topics/trio"),
        ("local/x", "local/x"),
        ("global", "global"),
        ("local/\uff21\uff22", "local/ab"),
    ],
)
def test_each_form_of_a_namespace_has_one_spelling(given_: str, canonical: str) -> None:
    assert validate(given_) == canonical


@pytest.mark.parametrize(
    "namespace",
    [
        "",
        "github",
        "github/octo",
        "github/octo/a/b",
        "github//a",
        "github/octo/..",
        "github/octo/%2e",
        "github/octo/\u212a",
        "gitlab/o/r",
        "global/x",
        "projects/",
        "projects/a/b",
        "local/a b",
        "local/a\n",
        "*",
        "github/octo/%",
        "local/" + "x" * 155,
    ],
)
def test_anything_else_is_no_namespace(namespace: str) -> None:
    assert refusal(namespace, of=validate).startswith("namespace: ")


def test_a_namespace_holds_160_characters_and_not_161() -> None:
    assert len(validate("local/" + "x" * 154)) == 160
    assert "160" in refusal("local/" + "x" * 155, of=validate)


@given(st.text(max_size=30))
def test_a_canonical_namespace_stays_as_it_is(name: str) -> None:
    try:
        canonical = from_name(name)
    except InvalidArgument:
        return
    assert validate(canonical) == canonical


def test_retrieval_goes_repository_projects_topics_global() -> None:
    links = {
        "projects/home": ("github/o/a", "gitea/o/b"),
        "projects/other": ("github/o/z",),
        "projects/two": ("github/o/a",),
    }
    assert retrieval_order("github/O/A", ["trio", "topics/sqlite"], links, []) == Scopes(
        ("github/o/a", "projects/home", "projects/two", "topics/trio", "topics/sqlite", "global"), False
    )


def test_a_namespace_named_twice_is_read_once() -> None:
    assert retrieval_order("global", [], {}, []).ordered == ("global",)
    assert retrieval_order("topics/x", ["x", "X", "topics/x"], {}, []).ordered == ("topics/x", "global")


def test_a_hub_reaches_every_repository_and_no_one_else_does() -> None:
    assert retrieval_order("github/o/hub", [], {}, ["github/o/hub"]).reaches_all_repositories
    assert not retrieval_order("github/o/hub2", [], {}, ["github/o/hub"]).reaches_all_repositories


def test_eight_topics_of_forty_characters_are_the_most() -> None:
    assert len(topic_scopes([f"{i}" + "x" * 39 for i in range(8)])) == 8
    assert "9 topics" in refusal(["x"] * 9, of=topic_scopes)
    assert "41 characters" in refusal(["x" * 41], of=topic_scopes)
    assert refusal(["github/o/a"], of=topic_scopes) == "topics: a topic is a name alone, or topics/<name>"
    assert "0 characters" in refusal([""], of=topic_scopes)
    assert "0 characters" in refusal(["topics/"], of=topic_scopes)
    assert refusal(["a/b"], of=topic_scopes).startswith("topics: ")


def test_an_owner_rename_moves_whole_segments_only() -> None:
    moves = [("github/Old", "github/new"), ("gitea/x", "github/x")]
    assert rename("github/old/repo", moves) == "github/new/repo"
    assert rename("gitea/x/repo", moves) == "github/x/repo"
    for stays in ("github/older/repo", "gitea/old/repo", "local/old", "projects/old", "global"):
        assert rename(stays, moves) == stays


def test_a_chain_of_renames_is_followed_to_its_end() -> None:
    moves = [("github/b", "github/c"), ("github/a", "github/b")]
    assert rename("github/a/r", moves) == "github/c/r"


@pytest.mark.parametrize(
    "moves",
    [
        [("github/a", "github/a")],
        [("github/a", "github/b"), ("github/b", "github/A")],
        [("github/a", "github/b"), ("github/a", "github/c")],
        [("github/a/r", "github/b/r")],
        [("github", "gitea")],
        [("github/", "github/b")],
        [("projects/a", "projects/b")],
        [("global", "github/b")],
    ],
)
def test_a_rename_that_leads_nowhere_is_refused(moves: list[tuple[str, str]]) -> None:
    assert refusal(moves, of=check_renames).startswith("namespace_renames: ")
