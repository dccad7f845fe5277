"""What a dry run of the screen answers where texts hold a great deal."""

import pytest

from agent_memory.domain.errors import InvalidArgument
from agent_memory.web.dry_run import FINDINGS_MAX, dry_run
from support.screen_examples import filled

LINE = filled("password=Tundra{dig4}\n")


def test_findings_are_listed_up_to_a_bound_and_the_rest_is_counted() -> None:
    each = len(dry_run({"texts": {"one": LINE * 400}})["findings"])
    report = dry_run({"texts": {f"text {i}": LINE * 400 for i in range(4)}})
    assert len(report["findings"]) == FINDINGS_MAX
    assert report["left_out"] == 4 * each - FINDINGS_MAX
    assert "left_out" not in dry_run({"texts": {"one": LINE}})


def test_a_text_too_dense_is_answered_as_the_server_would() -> None:
    (found,) = dry_run({"texts": {"log": LINE * 40_000}})["findings"]
    assert (found["pattern"], found["line"]) == ("too-dense", 1)


@pytest.mark.parametrize("arguments", [{}, {"texts": []}, {"texts": {}}, {"texts": {"a": 1}}, {"texts": {}, "more": 1}])
def test_another_shape_is_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(InvalidArgument):
        dry_run(arguments)
