"""The rows of the Model server and Model routing tables, on in-memory servers under a virtual clock."""

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from agent_memory.llm.chains import chains_of
from agent_memory.llm.chat import ChatReply, ChatRequest, Kind
from agent_memory.llm.errors import BadReply, EveryModelFailed, NoServerLive
from agent_memory.llm.replies import read_object
from agent_memory.llm.router import Router
from support.model_servers import GOOD_JSON, MemoryServer, router_of

REQUEST = ChatRequest(Kind.EXTRACT, "system", "user", 2048)


def text_of(reply: ChatReply) -> str:
    return reply.text


async def served_by(router: Router) -> tuple[str, str]:
    served = await router.call(REQUEST, read_object)
    return served.server, served.model


async def test_a_server_not_yet_probed_counts_as_live() -> None:
    server = MemoryServer()
    router = router_of(server)
    assert router.status()[0].live
    assert await served_by(router) == ("http://s1", "m")
    assert server.probes == 0


async def test_no_probe_is_made_inside_a_call() -> None:
    servers = [MemoryServer({"m": "drop"}), MemoryServer({"m": "500"})]
    with pytest.raises(EveryModelFailed):
        await served_by(router_of(*servers))
    assert [server.probes for server in servers] == [0, 0]


async def test_the_first_configured_server_is_chosen_on_a_tie() -> None:
    assert (await served_by(router_of(MemoryServer(), MemoryServer())))[0] == "http://s1"


async def test_the_live_server_with_the_fewest_calls_in_flight_is_chosen(autojump_clock: MockClock) -> None:
    router = router_of(MemoryServer({"m": 10.0}), MemoryServer({"m": 10.0}))
    chosen: list[str] = []

    async def call() -> None:
        chosen.append((await served_by(router))[0])

    async with trio.open_nursery() as nursery:
        for busy in ([1, 0], [1, 1], [2, 1], [2, 2]):
            nursery.start_soon(call)
            await wait_all_tasks_blocked()
            assert [server.in_flight for server in router.status()] == busy
    assert sorted(chosen) == ["http://s1", "http://s1", "http://s2", "http://s2"]
    assert [server.in_flight for server in router.status()] == [0, 0]


async def test_direct_servers_are_used_only_while_neither_of_the_first_two_is_live() -> None:
    first, second, direct = MemoryServer(), MemoryServer(), MemoryServer()
    router = router_of(first, second, direct=(direct,))
    router.servers[0].live = False
    assert (await served_by(router))[0] == "http://s2"
    router.servers[1].live = False
    assert (await served_by(router))[0] == "http://s3"
    router.servers[0].live = True
    assert (await served_by(router))[0] == "http://s1"


async def test_a_direct_server_is_not_asked_when_the_first_two_answered_with_errors() -> None:
    direct = MemoryServer()
    router = router_of(MemoryServer({"m": "500"}), MemoryServer({"m": "500"}), direct=(direct,))
    with pytest.raises(EveryModelFailed):
        await served_by(router)
    assert direct.asked == []


async def test_a_call_reaches_a_direct_server_when_the_first_two_fall_silent_under_it() -> None:
    router = router_of(MemoryServer(up=False), MemoryServer(up=False), direct=(MemoryServer(),))
    assert (await served_by(router))[0] == "http://s3"


async def test_a_server_that_does_not_answer_is_down_until_its_next_probe_and_the_call_moves_on() -> None:
    first = MemoryServer({"m": "drop"})
    router = router_of(first, MemoryServer())
    assert (await served_by(router))[0] == "http://s2"
    assert [server.live for server in router.status()] == [False, True]
    first.models = {"m": GOOD_JSON}
    assert (await served_by(router))[0] == "http://s2"  # still down: nobody has probed it
    await router.servers[0].probe(5)
    assert (await served_by(router))[0] == "http://s1"
    assert first.asked == ["m", "m"]


async def test_a_server_slower_than_the_timeout_has_not_answered(autojump_clock: MockClock) -> None:
    router = router_of(MemoryServer({"m": "slow"}), MemoryServer(), timeout_s=120)
    started = trio.current_time()
    assert (await served_by(router))[0] == "http://s2"
    assert trio.current_time() - started == pytest.approx(120)
    assert not router.status()[0].live


async def test_a_silent_server_is_not_asked_for_its_other_models() -> None:
    silent = MemoryServer({"a": "drop", "m": GOOD_JSON})
    router = router_of(silent, MemoryServer(), chains=chains_of("m", {"extract": ["a"]}))
    assert await served_by(router) == ("http://s2", "m")
    assert silent.asked == ["a"]


async def test_an_http_error_costs_the_model_then_the_server_and_leaves_it_live() -> None:
    first = MemoryServer({"a": "500", "m": "500"})
    second = MemoryServer({"a": GOOD_JSON})
    router = router_of(first, second, chains=chains_of("m", {"extract": ["a"]}))
    assert await served_by(router) == ("http://s2", "a")
    assert first.asked == ["a", "m"]
    assert router.status()[0].live


async def test_a_model_missing_from_the_host_costs_the_next_model() -> None:
    router = router_of(MemoryServer({"m": GOOD_JSON}), chains=chains_of("m", {"extract": ["absent"]}))
    assert await served_by(router) == ("http://s1", "m")


async def test_a_reply_that_will_not_parse_costs_the_next_model() -> None:
    router = router_of(MemoryServer({"a": "no json", "m": GOOD_JSON}), chains=chains_of("m", {"extract": ["a"]}))
    assert await served_by(router) == ("http://s1", "m")


async def test_a_model_that_is_not_running_is_asked_anyway(autojump_clock: MockClock) -> None:
    router = router_of(MemoryServer({"m": 90.0}))  # llama-swap loads it on the first request
    assert await served_by(router) == ("http://s1", "m")


async def test_a_job_every_model_failed_fails_and_says_why_without_content() -> None:
    router = router_of(MemoryServer({"m": "the s3cret reply"}), MemoryServer({"m": "500"}))
    with pytest.raises(EveryModelFailed) as failure:
        await served_by(router)
    assert [(one.server, one.model) for one in failure.value.attempts] == [("http://s1", "m"), ("http://s2", "m")]
    assert "not JSON" in str(failure.value)
    assert "HTTP 500" in str(failure.value)
    assert "s3cret" not in str(failure.value)


async def test_nothing_is_asked_when_no_server_is_live() -> None:
    server = MemoryServer()
    router = router_of(server)
    router.servers[0].live = False
    with pytest.raises(NoServerLive):
        await served_by(router)
    assert server.asked == []
    assert router.live_count == 0


async def test_without_servers_the_router_is_not_enabled() -> None:
    assert not router_of().enabled
    with pytest.raises(NoServerLive):
        await served_by(router_of())


async def test_a_cancelled_call_leaves_nothing_in_flight(autojump_clock: MockClock) -> None:
    router = router_of(MemoryServer({"m": "slow"}))
    with trio.move_on_after(5) as scope:
        await served_by(router)
    assert scope.cancelled_caught
    assert router.status()[0].in_flight == 0
    assert router.status()[0].live  # the caller gave up, not the server


async def test_a_bug_in_the_reader_is_raised_as_it_is() -> None:
    def read(reply: ChatReply) -> str:
        raise KeyError(reply.text)

    router = router_of(MemoryServer(), MemoryServer())
    with pytest.raises(KeyError):
        await router.call(REQUEST, read)
    assert router.status()[0].in_flight == 0


async def test_each_kind_has_its_own_chain() -> None:
    chains = chains_of("m", {"extract": ["a"], "answer": ["b"]})
    router = router_of(MemoryServer({"a": "from a", "b": "from b", "m": "from m"}), chains=chains)
    models = [(await router.call(ChatRequest(kind, "", "", 1), text_of)).model for kind in Kind]
    assert models == ["a", "b", "a"]  # a review without entries asks what extraction asks


async def test_calls_split_over_two_servers_and_all_end_when_one_dies(autojump_clock: MockClock) -> None:
    first, second = MemoryServer({"m": 1.0}), MemoryServer({"m": 4.0})
    router = router_of(first, second)
    done: list[str] = []
    limit = trio.CapacityLimiter(4)

    async def call() -> None:
        async with limit:
            done.append((await served_by(router))[0])

    async with trio.open_nursery() as nursery:
        for _ in range(200):
            nursery.start_soon(call)
        await trio.sleep(20)
        first.up = False
    assert len(done) == 200
    assert set(done) == {"http://s1", "http://s2"}
    assert [server.in_flight for server in router.status()] == [0, 0]


def test_a_bad_reply_says_what_is_wrong() -> None:
    assert str(BadReply("it is empty")) == "unusable reply: it is empty"
