from agent_memory.domain.screen import MARKER, explain, screen_text, screened

PASSWORD_URL = "postgres://memo:" + "Lantern4147" + "@db/memo"


def test_a_password_in_a_url_is_refused_and_a_user_alone_is_kept() -> None:
    assert screen_text(PASSWORD_URL) == "url-password"
    assert screen_text("postgres://memo@db/memo") is None


def test_url_parameters_are_judged_by_the_words_of_their_name() -> None:
    for name in ("access_token", "apiKey", "session_id", "sig"):
        assert screen_text(f"https://a.example/x?{name}=" + "A8fk2" * 5) is not None, name
    for name in ("author", "session_count", "token_type"):
        assert screen_text(f"https://a.example/x?{name}=" + "A8fk2" * 5) is None, name


def test_the_marker_is_seen_and_audit_context_is_masked() -> None:
    assert screen_text("x [do-not-store] y") == MARKER
    assert screen_text("Please do not store build artefacts in git.") is None
    assert screened(PASSWORD_URL) == "[screened:url-password]"
    assert screened("fine \ud800") == "fine \ud800"


def test_columns_count_characters_however_long_these_are_in_utf_8() -> None:
    text = f"é\U0001f600 {PASSWORD_URL} \ud800ü {PASSWORD_URL}\n密 {PASSWORD_URL}"
    places = [(found.line, found.column, found.end_column) for found in explain(text)]
    lines = text.split("\n")
    first = lines[0].index("postgres") + 1
    second = lines[0].rindex("postgres") + 1
    assert [(line, column) for line, column, _ in places] == [(1, first), (1, second), (2, 3)]
    assert len({end - column for _, column, end in places}) == 1


def test_an_explanation_gives_lines_and_columns() -> None:
    (found,) = explain("first\n see " + PASSWORD_URL)
    assert (found.line, found.column, found.end_line) == (2, 6, 2)
