"""The external encoder does what the seed's table says, and a faulty server costs one miss."""

import hashlib
from typing import Any

import httpx
import numpy as np
import pytest
import trio

from agent_memory.encoder.protocol import EncoderUnavailable, TextRefused
from agent_memory.encoder.remote import QUERY_INSTRUCTION, RemoteEncoder
from tests.encoder.conftest import Request, StandIn, reply

MODELS = {"data": [{"id": "other", "root": "/m/wrong"}, {"id": "enc", "root": "/models/enc-v7/"}]}


def vectors(count: int, width: int = 3) -> dict[str, Any]:
    return {"data": [{"index": n, "embedding": [float(n + 1)] * width} for n in reversed(range(count))]}


def answering(models: Any = MODELS, embeddings: Any = None, status: int = 200) -> Any:
    async def answer(request: Request, stream: trio.SocketStream) -> None:
        if request.method == "GET":
            listed = request.path == "/v1/models"
            await reply(stream, models if listed else {}, 200 if listed else 404)
        else:
            body = embeddings if embeddings is not None else vectors(len(request.json["input"]))
            await reply(stream, body, status)

    return answer


@pytest.fixture
async def encoder(stand_in: StandIn, client: httpx.AsyncClient) -> RemoteEncoder:
    stand_in.answer = answering()
    made = RemoteEncoder(client, stand_in.url + "/v1/", "enc", timeout_s=0.5)
    assert await made.probe()
    return made


async def test_it_is_down_until_probed(stand_in: StandIn, client: httpx.AsyncClient) -> None:
    encoder = RemoteEncoder(client, stand_in.url + "/v1", "enc")
    assert not encoder.is_up
    with pytest.raises(EncoderUnavailable):
        await encoder.encode_query("x")
    assert stand_in.seen == []


async def test_a_query_is_sent_with_its_instruction_and_comes_back_as_a_unit_vector(
    encoder: RemoteEncoder, stand_in: StandIn
) -> None:
    vector = await encoder.encode_query("which port")
    assert stand_in.seen[-1].path == "/v1/embeddings"
    assert stand_in.seen[-1].json == {"model": "enc", "input": [QUERY_INSTRUCTION + "which port"]}
    assert QUERY_INSTRUCTION.startswith("Instruct: Given a web search query")
    assert QUERY_INSTRUCTION.endswith("\nQuery:")
    assert vector.dtype == np.float32
    assert np.linalg.norm(vector) == pytest.approx(1)


async def test_records_are_sent_without_an_instruction_and_answered_in_their_order(
    encoder: RemoteEncoder, stand_in: StandIn
) -> None:
    text = encoder.record_text("a title", "the content")
    found = await encoder.encode_records([text, "b", "\ud800"])
    assert stand_in.seen[-1].json["input"][0] == "a title\nthe content"
    assert found.shape == (3, 3)
    assert len(await encoder.encode_records([])) == 0


async def test_the_snapshot_is_the_last_segment_of_root(encoder: RemoteEncoder) -> None:
    assert encoder.snapshot == "enc-v7"
    assert encoder.digest("t") == hashlib.sha256(b"enc\x00enc-v7\x00t").hexdigest()


async def test_the_snapshot_may_come_from_llama_swaps_upstream(stand_in: StandIn, client: httpx.AsyncClient) -> None:
    async def answer(request: Request, stream: trio.SocketStream) -> None:
        upstream = {"data": [{"id": "any-name", "root": "/srv/enc.gguf"}]}
        listed = {"data": [{"id": "enc"}, {"id": "b"}]}
        await reply(stream, upstream if request.path == "/upstream/enc/v1/models" else listed)

    stand_in.answer = answer
    encoder = RemoteEncoder(client, stand_in.url + "/v1", "enc")
    assert await encoder.probe()
    assert encoder.snapshot == "enc.gguf"
    assert await encoder.probe()
    assert [request.path for request in stand_in.seen].count("/upstream/enc/v1/models") == 1


async def test_a_server_without_root_has_an_empty_snapshot(stand_in: StandIn, client: httpx.AsyncClient) -> None:
    stand_in.answer = answering(models={"data": [{"id": "enc"}]})
    encoder = RemoteEncoder(client, stand_in.url + "/v1", "enc")
    assert await encoder.probe()
    assert encoder.snapshot == ""


@pytest.mark.parametrize(
    "embeddings",
    [
        b"not json",
        {"data": []},
        vectors(2),
        {"data": [{"index": 1, "embedding": [1.0]}]},
        {"data": [{"index": 0, "embedding": []}]},
        {"data": [{"index": 0, "embedding": [0.0, 0.0]}]},
        {"data": [{"index": 0, "embedding": ["x"]}]},
        b'{"data": [{"index": 0, "embedding": [NaN, 1.0]}]}',
        {"error": "overloaded"},
    ],
)
async def test_a_bad_answer_marks_it_down_until_the_next_probe(
    encoder: RemoteEncoder, stand_in: StandIn, embeddings: Any
) -> None:
    stand_in.answer = answering(embeddings=embeddings)
    with pytest.raises(EncoderUnavailable):
        await encoder.encode_query("x")
    asked = len(stand_in.seen)
    with pytest.raises(EncoderUnavailable):
        await encoder.encode_query("x")
    assert len(stand_in.seen) == asked
    stand_in.answer = answering()
    assert await encoder.probe()
    assert len(await encoder.encode_query("x")) == 3


async def test_another_width_than_before_is_refused(encoder: RemoteEncoder, stand_in: StandIn) -> None:
    await encoder.encode_query("x")
    stand_in.answer = answering(embeddings=vectors(1, width=4))
    with pytest.raises(EncoderUnavailable, match="width"):
        await encoder.encode_query("x")


async def test_an_http_error_marks_it_down(encoder: RemoteEncoder, stand_in: StandIn) -> None:
    stand_in.answer = answering(status=500)
    with pytest.raises(EncoderUnavailable, match="500"):
        await encoder.encode_records(["x"])
    assert not encoder.is_up
    assert "500" in encoder.state


async def test_a_refused_text_does_not_mark_it_down(encoder: RemoteEncoder, stand_in: StandIn) -> None:
    stand_in.answer = answering(status=400)
    with pytest.raises(TextRefused):
        await encoder.encode_records(["far too long"])
    assert encoder.is_up


async def test_a_slow_server_costs_one_timeout_and_then_nothing(encoder: RemoteEncoder, stand_in: StandIn) -> None:
    async def drip(request: Request, stream: trio.SocketStream) -> None:
        await stream.send_all(b"HTTP/1.1 200 X\r\nContent-Length: 1000000\r\n\r\n")
        while True:  # a byte now and then: a timeout of the read alone would never strike
            await stream.send_all(b" ")
            await trio.sleep(0.05)

    stand_in.answer = drip
    started = trio.current_time()
    with pytest.raises(EncoderUnavailable, match=r"0\.5 s"):
        await encoder.encode_query("x")
    assert 0.4 < trio.current_time() - started < 2
    started = trio.current_time()
    with pytest.raises(EncoderUnavailable):
        await encoder.encode_query("x")
    assert trio.current_time() - started < 0.1


async def test_a_server_that_is_gone_fails_the_probe(client: httpx.AsyncClient) -> None:
    encoder = RemoteEncoder(client, "http://user:hidden@127.0.0.1:1/v1", "enc")
    assert not await encoder.probe()
    assert "hidden" not in encoder.state
    assert "127.0.0.1:1" in encoder.state
