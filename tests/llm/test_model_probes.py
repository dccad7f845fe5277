"""The probe task, under a virtual clock."""

import logging

import pytest
import trio
from trio.testing import MockClock

from agent_memory.llm.probes import PROBE_INTERVAL_S, PROBE_TIMEOUT_S, run_probe
from support.model_servers import MemoryServer, router_of


def test_results_are_at_most_fifteen_seconds_apart() -> None:
    assert PROBE_INTERVAL_S + PROBE_TIMEOUT_S <= 15


async def test_a_probe_runs_at_once_and_then_at_each_interval(autojump_clock: MockClock) -> None:
    server = MemoryServer()
    router = router_of(server)
    async with trio.open_nursery() as nursery:
        await nursery.start(run_probe, router.servers[0])
        await trio.sleep(60)
        nursery.cancel_scope.cancel()
    assert server.probes in {6, 7}  # at 0, 10, …, 50 and perhaps at 60


async def test_start_up_does_not_wait_for_a_slow_probe(autojump_clock: MockClock) -> None:
    router = router_of(MemoryServer(probe_s=100))
    async with trio.open_nursery() as nursery:
        await nursery.start(run_probe, router.servers[0])
        assert trio.current_time() == autojump_clock.current_time()
        assert router.status()[0].live
        await trio.sleep(PROBE_TIMEOUT_S + 0.1)
        assert not router.status()[0].live
        assert router.status()[0].latency_ms is None
        nursery.cancel_scope.cancel()


async def test_a_server_that_comes_back_is_live_within_fifteen_seconds(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    server = MemoryServer(up=False, probe_s=0.25)
    router = router_of(server)
    with caplog.at_level(logging.WARNING, "agent_memory"):
        async with trio.open_nursery() as nursery:
            await nursery.start(run_probe, router.servers[0])
            await trio.sleep(12)
            assert not router.status()[0].live
            server.up = True
            await trio.sleep(15)
            assert router.status()[0].live
            assert router.status()[0].latency_ms == pytest.approx(250)
            nursery.cancel_scope.cancel()
    # one line for each change, not one for each probe
    assert [vars(record)["facts"]["live"] for record in caplog.records] == [False, True]
