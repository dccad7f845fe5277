"""The model options: addresses and chains."""

import pytest

from agent_memory.domain.errors import InvalidArgument
from agent_memory.llm.chains import chains_of
from agent_memory.llm.chat import Kind
from agent_memory.llm.endpoints import Endpoint, read_endpoint, read_endpoints


@pytest.mark.parametrize(
    ("url", "shown", "openai"),
    [
        ("http://gpu:8080/v1", "http://gpu:8080/v1", True),
        ("http://gpu:8080/v1/", "http://gpu:8080/v1", True),
        ("http://gpu:11434", "http://gpu:11434", False),
        ("https://me:s3cret@gpu/llm/v1", "https://gpu/llm/v1", True),
        ("http://[fd00::1]:11434", "http://[fd00::1]:11434", False),
    ],
)
def test_an_address_names_its_api_and_hides_its_credentials(url: str, shown: str, openai: bool) -> None:
    endpoint = read_endpoint(url, "ollama_url")
    assert (endpoint.shown, endpoint.openai) == (shown, openai)


@pytest.mark.parametrize(
    "url", ["gpu:11434", "ftp://gpu", "http://", "http://gpu:port", "http://u:s3cret@gpu?x=1", "http://a b/"]
)
def test_a_bad_address_is_refused_by_option_without_repeating_it(url: str) -> None:
    with pytest.raises(InvalidArgument, match="ollama_fallback_url") as refusal:
        read_endpoint(url, "ollama_fallback_url")
    assert "s3cret" not in str(refusal.value)


def test_servers_come_in_configured_order_each_once() -> None:
    endpoints = read_endpoints("http://a", "http://b/v1", ["http://c", "http://a", ""])
    assert endpoints == (
        Endpoint("http://a", "http://a", False),
        Endpoint("http://b/v1", "http://b/v1", True),
        Endpoint("http://c", "http://c", False, direct=True),
    )
    assert read_endpoints("", " ", []) == read_endpoints(None, None, []) == ()


def test_the_default_ends_every_chain_and_stands_in_it_once() -> None:
    chains = chains_of("m", {"extract": ["qwen3.5:9b", "m", "ornith:9b"], "answer": ["m"]})
    assert chains.of(Kind.EXTRACT) == ("qwen3.5:9b", "ornith:9b", "m")
    assert chains.of(Kind.ANSWER) == ("m",)


def test_without_the_option_every_kind_uses_the_default() -> None:
    chains = chains_of("qwen3.5:9b", {})
    assert {chains.of(kind) for kind in Kind} == {("qwen3.5:9b",)}


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="ollama_models"):
        chains_of("m", {"embed": ["x"]})


def test_an_empty_default_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="ollama_model:"):
        chains_of(" ", {})
