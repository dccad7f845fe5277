"""Both clients against their stand-ins over real sockets, and the in-memory server against the same contract."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio

from agent_memory.llm.chains import chains_of
from agent_memory.llm.chat import ChatReply, ChatRequest, Kind, ModelClient, ReplySchema
from agent_memory.llm.endpoints import read_endpoint, read_endpoints
from agent_memory.llm.errors import BadReply, EveryModelFailed, ServerRefused, ServerSilent
from agent_memory.llm.extraction import extraction_request
from agent_memory.llm.memories import read_memories
from agent_memory.llm.ollama import OllamaClient
from agent_memory.llm.openai import OpenAIClient
from agent_memory.llm.router import open_router
from agent_memory.llm.wire import MAX_REPLY_BYTES, open_http
from support.model_servers import FAULTS, GOOD_JSON, MEMORY, HttpStandIn, MemoryServer, OllamaStandIn, OpenAIStandIn

APIS: dict[str, type[HttpStandIn]] = {"ollama": OllamaStandIn, "openai": OpenAIStandIn}
REQUEST = ChatRequest(Kind.EXTRACT, "be brief", "hello", 2048)


@asynccontextmanager
async def serving(stand_in: HttpStandIn) -> AsyncIterator[str]:
    """The stand-in's URL as an option would hold it, while the block runs."""
    async with trio.open_nursery() as nursery:
        port = await nursery.start(stand_in.serve)
        yield f"http://127.0.0.1:{port}{'/v1' if isinstance(stand_in, OpenAIStandIn) else ''}"
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def client_of(api: str, models: dict[str, str]) -> AsyncIterator[ModelClient]:
    if api == "memory":
        yield MemoryServer(models)
        return
    async with serving(APIS[api](models)) as url, open_http(url) as http:
        yield OpenAIClient(http) if api == "openai" else OllamaClient(http)


@pytest.fixture(params=["memory", "ollama", "openai"])
def api(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["ollama", "openai"])
def http_api(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def test_a_reply_is_the_text_of_the_model(api: str) -> None:
    async with client_of(api, {"m": "good morning"}) as client:
        await client.probe()
        assert await client.chat("m", REQUEST) == ChatReply("good morning")


async def test_an_unknown_model_is_an_http_error(api: str) -> None:
    async with client_of(api, {"m": GOOD_JSON}) as client:
        with pytest.raises(ServerRefused) as refusal:
            await client.chat("absent", REQUEST)
        assert refusal.value.status == 404


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("drop", ServerSilent),
        ("broken-off", ServerSilent),
        ("500", ServerRefused),
        ("bad-json", BadReply),
        ("no-message", BadReply),
    ],
)
async def test_each_fault_is_told_apart(api: str, fault: str, error: type[Exception]) -> None:
    async with client_of(api, {"m": fault}) as client:
        with pytest.raises(error):
            await client.chat("m", REQUEST)


async def test_a_slow_reply_ends_with_the_callers_deadline(api: str) -> None:
    async with client_of(api, {"m": "slow"}) as client:
        with trio.move_on_after(0.05) as scope:
            await client.chat("m", REQUEST)
        assert scope.cancelled_caught


async def test_a_server_that_is_not_there_is_silent(http_api: str) -> None:
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listeners[0].socket.getsockname()[1]
    await listeners[0].aclose()
    async with open_http(f"http://127.0.0.1:{port}") as http:
        client: ModelClient = OpenAIClient(http) if http_api == "openai" else OllamaClient(http)
        with pytest.raises(ServerSilent, match="ConnectError"):
            await client.probe()


async def test_a_reply_cut_at_the_output_cap_says_so(http_api: str) -> None:
    async with client_of(http_api, {"m": "one two three four"}) as client:
        reply = await client.chat("m", ChatRequest(Kind.ANSWER, "", "", max_tokens=2))
        assert reply == ChatReply("one two", truncated=True)


async def test_a_body_over_the_bound_is_given_up(http_api: str) -> None:
    async with client_of(http_api, {"m": "x" * (MAX_REPLY_BYTES + 1)}) as client:
        with pytest.raises(BadReply, match="bytes"):
            await client.chat("m", REQUEST)


async def sent_by(api: str, schema: ReplySchema | None) -> dict[str, Any]:
    stand_in = APIS[api]()
    async with serving(stand_in) as url, open_router([read_endpoint(url, "ollama_url")], chains_of("m", {}), 5) as r:
        await r.call(ChatRequest(Kind.EXTRACT, "rules", "data", 2048, schema), lambda reply: reply.text)
    return stand_in.asked[0]


async def test_ollama_is_asked_as_the_model_server_table_says() -> None:
    plain = await sent_by("ollama", None)
    assert plain["think"] is False
    assert plain["stream"] is False
    assert plain["options"] == {"temperature": 0.1, "num_predict": 2048}
    assert plain["messages"] == [{"role": "system", "content": "rules"}, {"role": "user", "content": "data"}]
    assert "format" not in plain
    assert (await sent_by("ollama", ReplySchema("memories", {"type": "object"})))["format"] == "json"


async def test_an_openai_server_is_asked_as_the_model_server_table_says() -> None:
    plain = await sent_by("openai", None)
    assert plain["chat_template_kwargs"] == {"enable_thinking": False}
    assert plain["temperature"] == 0.1
    assert plain["max_tokens"] == 2048
    assert "response_format" not in plain


async def test_extraction_asks_an_openai_server_for_a_schema_that_requires_memories() -> None:
    request = extraction_request("notes")
    sent = (await sent_by("openai", request.schema))["response_format"]
    assert sent["type"] == "json_schema"
    assert sent["json_schema"]["schema"]["required"] == ["memories"]
    assert sent["json_schema"]["schema"]["properties"]["memories"]["type"] == "array"
    assert request.max_tokens == 2048


async def test_credentials_are_sent_as_basic_authentication_and_shown_nowhere() -> None:
    stand_in = OpenAIStandIn({"m": "drop"})
    async with serving(stand_in) as url:
        secret = url.replace("http://", "http://user:s3cret@")
        async with open_router([read_endpoint(secret, "ollama_url")], chains_of("m", {}), 5) as router:
            with pytest.raises(EveryModelFailed) as failure:
                await router.call(REQUEST, lambda reply: reply.text)
            assert router.status()[0].url == url
            assert "s3cret" not in f"{router.status()}{failure.value}{failure.value.attempts}"


async def test_a_call_survives_a_server_that_is_killed_under_it(http_api: str) -> None:
    """Two real servers, one of which closes every connection from some moment on."""
    dying, healthy = APIS[http_api]({"m": GOOD_JSON}), APIS[http_api]({"m": GOOD_JSON})
    async with (
        serving(dying) as one,
        serving(healthy) as two,
        open_router(read_endpoints(one, two, []), chains_of("m", {}), 5) as router,
    ):
        served = []
        for turn in range(12):
            dying.up = turn < 3
            if turn == 3:
                dying.models["m"] = "drop"
            served.append((await router.call(REQUEST, read_memories)).server)
    assert served == [one] * 3 + [two] * 9


async def test_two_hundred_calls_are_served_though_one_server_is_slow_and_the_other_is_killed(http_api: str) -> None:
    """The killed one comes back after a probe; each call is answered once, by whichever server is there."""
    killed, slow = APIS[http_api](delay_s=0.002), APIS[http_api](delay_s=0.02)
    served: list[str] = []
    limit = trio.CapacityLimiter(8)
    reached = {60: trio.Event(), 120: trio.Event()}

    async def call() -> None:
        async with limit:
            served.append((await router.call(REQUEST, read_memories)).server)
            if len(served) in reached:
                reached[len(served)].set()

    async with (
        serving(killed) as one,
        serving(slow) as two,
        open_router(read_endpoints(one, two, []), chains_of("m", {}), 5) as router,
    ):
        async with trio.open_nursery() as nursery:
            for _ in range(200):
                nursery.start_soon(call)
            await reached[60].wait()
            killed.up = False
            await reached[120].wait()
            assert not router.servers[0].live
            killed.up = True
            await router.servers[0].probe(5)
        assert len(served) == 200
        assert set(served) == {one, two}
        assert [server.in_flight for server in router.status()] == [0, 0]


@pytest.mark.parametrize("fault", FAULTS)
async def test_extraction_moves_on_from_every_fault_of_the_first_server(http_api: str, fault: str) -> None:
    bad, good = APIS[http_api]({"m": fault}), APIS[http_api]({"m": GOOD_JSON})
    async with (
        serving(bad) as one,
        serving(good) as two,
        open_router(read_endpoints(one, two, []), chains_of("m", {}), 0.3) as router,
    ):
        served = await router.call(extraction_request("notes"), read_memories)
    assert served.server == two
    assert served.value[0][0].title == MEMORY["title"]


@pytest.mark.parametrize(
    "text",
    [
        f"```json\n{GOOD_JSON}\n```",
        f"Here you are:\n```\n{GOOD_JSON}\n```\nAnything else?",
        f"<think>The notes say 72 h.\nSo {{maybe}}</think>\n{GOOD_JSON}",
        f"so the keys are kept.</think>\n```json\n{GOOD_JSON}\n```",
        json.dumps({"memories": [MEMORY], "remark": "done"}, indent=2),
    ],
    ids=["fenced", "fenced-in-prose", "thinking", "thinking-opened-by-the-template", "with-a-remark"],
)
async def test_memories_are_read_out_of_what_models_write_around_them(http_api: str, text: str) -> None:
    async with client_of(http_api, {"m": text}) as client:
        memories, malformed = read_memories(await client.chat("m", extraction_request("notes")))
    assert [memory.title for memory in memories] == [MEMORY["title"]]
    assert malformed == 0
