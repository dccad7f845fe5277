"""Options against each other: contradictions are refused, and plain values become what the program works with."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from agent_memory.domain.clients import Client, check_clients
from agent_memory.domain.errors import InvalidArgument
from agent_memory.domain.namespaces import check_renames, rename, validate
from agent_memory.options.errors import OptionError

T = TypeVar("T")
_LINKABLE_KINDS = ("github", "gitea", "local")


def build(values: Mapping[str, Any]) -> dict[str, Any]:
    """The read options, consistent with each other, in the shapes of `config.Settings`.

    Hubs and links follow the owner renames, so that an operator adds one line after a rename and edits nothing else.

    Raises: OptionError: the first contradiction found.
    """
    _check_servers(values)
    _check_forges(values)
    _check_budgets(values)
    _check_home_assistant(values)
    renames = _refusing(
        "namespace_renames", lambda: check_renames([(r["from"], r["to"]) for r in values["namespace_renames"]])
    )
    return {
        **values,
        "clients": _clients(values["clients"]),
        "namespace_renames": renames,
        "hubs": _renamed(values["hubs"], renames),
        "project_links": _project_links(values["project_links"], renames),
        "ollama_models": _chains(values["ollama_models"]),
    }


def _clients(listed: Iterable[Mapping[str, Any]]) -> tuple[Client, ...]:
    clients = tuple(
        Client(
            client["name"],
            frozenset(client["scopes"]),
            client.get("ip"),
            # Windows tools print digests in capitals
            client["token_sha256"].lower() if "token_sha256" in client else None,
        )
        for client in listed
    )
    _refusing("clients", lambda: check_clients(clients))
    return clients


def _project_links(
    links: Iterable[Mapping[str, Any]], renames: tuple[tuple[str, str], ...]
) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for i, link in enumerate(links):
        where = f"project_links[{i}].project"
        named = "projects/" + link["project"].removeprefix("projects/")
        project = _refusing(where, lambda: validate(named, where))  # noqa: B023 - called at once
        if project in found:
            raise OptionError(where, f"{project} is listed twice; put all its namespaces in one entry")
        for namespace in link["namespaces"]:
            if namespace.split("/", 1)[0] not in _LINKABLE_KINDS:
                allowed = "github/<owner>/<repo>, gitea/<owner>/<repo> and local/<name>"
                raise OptionError(f"project_links[{i}].namespaces", f"found {namespace!r}; allowed: {allowed}")
        found[project] = _renamed(link["namespaces"], renames)
    return MappingProxyType(found)


def _renamed(namespaces: Iterable[str], renames: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(rename(namespace, renames) for namespace in namespaces))


def _chains(entries: Iterable[tuple[str, str]]) -> Mapping[str, tuple[str, ...]]:
    chains: dict[str, tuple[str, ...]] = {}
    for job, model in entries:
        chains[job] = (*chains.get(job, ()), model)
    return MappingProxyType(chains)


def _check_servers(values: Mapping[str, Any]) -> None:
    for name in ("ollama_fallback_url", "ollama_direct_urls"):
        if values[name] and not values["ollama_url"]:
            raise OptionError(name, "is set without ollama_url; set ollama_url first, the others stand behind it")
    if values["ollama_url"] and values["ollama_url"] == values["ollama_fallback_url"]:
        raise OptionError("ollama_fallback_url", "is the same server as ollama_url; name a second one or unset it")


def _check_forges(values: Mapping[str, Any]) -> None:
    if "github.com" in values["forge_hosts"]:
        raise OptionError("forge_hosts", "found 'github.com'; allowed: other hosts, GitHub needs no entry")
    if values["forge_owner"] and not values["forge_hosts"]:
        raise OptionError("forge_owner", "is set without forge_hosts; name the host it narrows")


def _check_budgets(values: Mapping[str, Any]) -> None:
    budget, limit = values["context_budget_tokens"], values["hard_context_limit_tokens"]
    if budget > limit:
        problem = f"found the number {budget}; allowed: at most hard_context_limit_tokens, which is {limit}"
        raise OptionError("context_budget_tokens", problem)


def _check_home_assistant(values: Mapping[str, Any]) -> None:
    pair = ("home_assistant_url", "home_assistant_token")
    for name, other in (pair, pair[::-1]):
        if values[name] and not values[other]:
            raise OptionError(name, f"is set without {other}; set both, or neither inside the add-on")


def _refusing(option: str, check: Callable[[], T]) -> T:
    """A domain check whose refusal becomes the option's."""
    try:
        return check()
    except InvalidArgument as error:
        raise OptionError(option, str(error).partition(": ")[2]) from None
