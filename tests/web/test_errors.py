"""Every error has a row in the front's table, a text, and keeps its facts."""

import pytest

from agent_memory.domain import errors
from agent_memory.domain.errors import ServiceError
from agent_memory.web.errors import STATUSES, answer_to, body_of, status_of
from agent_memory.web.requests import RequestRefused

EXAMPLES = [
    errors.InvalidArgument("limit", "must be from 1 to 50"),
    errors.SecretRefused("content", "jwt"),
    errors.Unauthenticated("the Authorization header is missing"),
    errors.Forbidden("needs the scope write"),
    errors.UnknownTool("memory_nothing"),
    errors.RecordNotFound("0" * 32),
    errors.QuestionNotFound(),
    errors.RevisionConflict("0" * 32, 3, {"title": "now"}),
    errors.Conflict("a record cannot supersede itself"),
    errors.Expired("the receipt is past its retention"),
    errors.Busy("the store has too many waiting calls"),
    errors.StoreUnavailable("the disk is full"),
    RequestRefused(415, "unsupported_media_type", "JSON only"),
]


def subclasses(of: type) -> set[type]:
    found = set(of.__subclasses__())
    return found | {deeper for each in found for deeper in subclasses(each)}


def test_every_error_a_caller_is_told_about_has_a_row() -> None:
    for error in subclasses(ServiceError) - {RequestRefused}:
        assert any(kind in STATUSES for kind in error.__mro__), error
    assert {type(example) for example in EXAMPLES} == {*STATUSES, RequestRefused}


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_every_error_reads_as_a_sentence_with_a_code(error: ServiceError) -> None:
    status, code = status_of(error)
    detail = body_of(error)["error"]
    assert 400 <= status < 600
    assert detail["code"] == code
    assert len(detail["message"]) > 8
    assert "None" not in detail["message"]


def test_what_may_be_retried_says_when() -> None:
    for error in (errors.Busy("full", 3), errors.StoreUnavailable("stopping")):
        status, _, headers = answer_to(error)
        assert status == 503
        assert int(headers["Retry-After"]) >= 1
    assert body_of(errors.Busy("full", 3))["error"]["retry_after_s"] == 3


def test_a_conflict_carries_what_is_current() -> None:
    detail = body_of(errors.RevisionConflict("0" * 32, 3, {"title": "now"}))["error"]
    assert (detail["revision"], detail["current"]) == (3, {"title": "now"})
