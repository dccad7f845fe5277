"""Every form of a git remote, and the promise that no message repeats one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.domain.errors import InvalidArgument
from agent_memory.domain.remotes import Remote, parse

names = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,20}", fullmatch=True)
secrets = st.from_regex(r"zq[A-Za-z0-9]{12,30}", fullmatch=True)


@pytest.mark.parametrize(
    "remote",
    [
        "https://github.com/Octo/Widgets",
        "https://github.com/octo/widgets.git",
        "https://github.com/octo/widgets/",
        "https://github.com/octo/widgets.git/",
        "https://github.com//octo//widgets.git//",
        "https://www.github.com/octo/widgets",
        "https://github.com./octo/widgets",
        "https://user@github.com/octo/widgets.git",
        "https://user:word@github.com:443/octo/widgets.git",
        "https://user:w@rd@github.com/octo/widgets.git",
        "HTTPS://GitHub.COM/OCTO/WIDGETS.GIT",
        "http://github.com/octo/widgets",
        "git://github.com/octo/widgets.git",
        "ssh://git@github.com/octo/widgets.git",
        "ssh://git@github.com:22/octo/widgets.git",
        "git+ssh://git@github.com/octo/widgets.git",
        "git@github.com:octo/widgets.git",
        "git@github.com:/octo/widgets.git",
        "git@github.com:Octo/Widgets/",
        "org-1234@github.com:octo/widgets.git",
        "github.com:octo/widgets.git",
        "github.com/octo/widgets",
        "  git@github.com:octo/widgets.git\n",
    ],
)
def test_every_form_of_a_remote_names_the_same_repository(remote: str) -> None:
    assert parse(remote) == Remote("github.com", "octo", "widgets")


def test_an_ipv6_host_is_read_in_both_forms() -> None:
    assert parse("ssh://git@[fd00::5]:2222/octo/widgets.git").host == "fd00::5"
    assert parse("git@[fd00::5]:octo/widgets.git").host == "fd00::5"


def test_a_repository_named_like_a_hidden_file_is_a_repository() -> None:
    assert parse("https://github.com/octo/.github") == Remote("github.com", "octo", ".github")


@pytest.mark.parametrize(
    ("remote", "reason"),
    [
        ("", "1 to 2048"),
        ("x" * 3000, "1 to 2048"),
        ("git@github.com:group/subgroup/repo.git", "nested groups"),
        ("https://github.com/octo/widgets/tree/main", "nested groups"),
        ("https://github.com/octo", "is missing"),
        ("https://github.com", "is missing"),
        ("https://github.com/octo/.git", "1 to 100 letters"),
        ("https://github.com/octo/..", "1 to 100 letters"),
        ("https://github.com/octo/wid%20gets", "1 to 100 letters"),
        ("https://github.com/octo/\u212aelvin", "1 to 100 letters"),
        ("https://github.com/octo/wid gets", "no spaces"),
        ("https://github.com/octo/wid\x00gets", "no spaces"),
        ("https://github.com:port/octo/widgets", "cannot be read"),
        ("https://[::1/octo/widgets", "cannot be read"),
        ("https:///octo/widgets", "no host"),
        ("https://github.com/octo/widgets?private_token=1", "no ?query"),
        ("/srv/git/widgets.git", "pass `name`"),
        ("../widgets", "pass `name`"),
        ("C:/code/widgets", "pass `name`"),
        ("C:\\code\\widgets", "pass `name`"),
        ("file:///srv/git/widgets.git", "pass `name`"),
        ("widgets", "pass `name`"),
        ("ftp://github.com/octo/widgets", "unknown transport"),
    ],
)
def test_what_is_not_a_remote_is_refused_with_its_reason(remote: str, reason: str) -> None:
    with pytest.raises(InvalidArgument, match=r"^remote: ") as refusal:
        parse(remote)
    assert reason in str(refusal.value)


@given(secrets, names, st.sampled_from(["/", "@", ":", "#", "?", "", "\\", "/@", " "]))
def test_a_credential_in_a_remote_is_never_repeated(secret: str, name: str, break_: str) -> None:
    torn = secret[:6] + break_ + secret[6:]
    for remote in (
        f"https://{name}:{torn}@github.com/o/r/x/y",
        f"https://{torn}@github.com/o",
        f"https://github.com:{torn}/o/r",
        f"{name}:{torn}@github.com:o/r/x",
        f"{torn}@github.com:o",
        torn,
        f"{torn}://github.com/o/r",
        f"https://github.com/o/r?token={torn}",
    ):
        try:
            parse(remote)
        except InvalidArgument as refusal:
            text = str(refusal) + repr(refusal.__cause__)
            assert secret[:6] not in text
            assert secret[6:] not in text


@given(st.text(max_size=80))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = parse(text)
    except InvalidArgument:
        return
    assert found.owner == found.owner.lower()
    assert "/" not in found.owner + found.repository
