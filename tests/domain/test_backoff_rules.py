"""Delays between attempts of a job."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.domain.backoff import BASE_S, CAP_S, MAX_ATTEMPTS, is_spent, retry_delay_s

attempts = st.integers(1, 10**6)
spreads = st.floats(0, 1, exclude_max=True)


def test_delays_double_up_to_the_cap() -> None:
    assert [retry_delay_s(n) for n in range(1, 10)] == [5, 10, 20, 40, 80, 160, 320, 640, 900]


@given(attempts, spreads)
def test_a_delay_is_above_zero_and_never_over_the_cap(count: int, spread: float) -> None:
    assert 0.75 * BASE_S <= retry_delay_s(count, spread=spread) <= CAP_S


@given(attempts)
def test_delays_never_shrink(count: int) -> None:
    assert retry_delay_s(count + 1) >= retry_delay_s(count)


@pytest.mark.parametrize(("count", "spread"), [(0, 0.0), (-1, 0.0), (1, 1.0), (1, -0.1)])
def test_impossible_arguments_are_refused(count: int, spread: float) -> None:
    with pytest.raises(ValueError, match="attempts"):
        retry_delay_s(count, spread=spread)


def test_a_job_is_parked_after_its_attempts() -> None:
    assert not is_spent(MAX_ATTEMPTS - 1)
    assert is_spent(MAX_ATTEMPTS)
