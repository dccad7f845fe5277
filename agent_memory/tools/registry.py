"""The registry: how a tool is declared, found, authorised, called and answered. Fronts translate and hold no rules."""

import inspect
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar, get_args, get_type_hints

import pydantic
from apsw import Connection
from pydantic import BaseModel, ConfigDict, Field

from agent_memory.domain.budgets import estimate_tokens
from agent_memory.domain.clients import Identity
from agent_memory.domain.errors import (
    Conflict,
    Expired,
    Forbidden,
    InvalidArgument,
    RevisionConflict,
    SecretRefused,
    ServiceError,
    UnknownTool,
)
from agent_memory.logs import Log
from agent_memory.store import audit
from agent_memory.tools.services import Services

log = Log("tools")

# What a client is told it may not do leaves an audit row; a misspelt argument does not.
AUDITED_REFUSALS: Final = (SecretRefused, Forbidden, Conflict, RevisionConflict, Expired)
ITEMS_MAX: Final = 1_000  # of a list or an object in the arguments; every tool's own limits are lower
DEPTH_MAX: Final = 6


class Arguments(BaseModel):
    """Base of every tool's arguments: an argument nobody knows is an error, and so is `true` for a number."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class Result(BaseModel):
    """Base of every tool's result. A field that is None is left out."""

    estimated_tokens: int = Field(default=0, description="Size of this answer, four bytes a token.")
    truncated: bool = Field(default=False, description="Whether something was cut or left out to fit a budget.")


A = TypeVar("A", bound=Arguments)


@dataclass(frozen=True, slots=True)
class Wire:
    """How a front's answer travels, as far as its size goes."""

    envelope_bytes: int
    escaped: bool

    def size(self, text: str) -> int:
        """Bytes that a piece of the result's JSON takes on the wire, the envelope left out."""
        # MCP carries the result's JSON as a JSON string, which may escape everything outside ASCII.
        return len(json.dumps(text)) - 2 if self.escaped else len(text.encode())


@dataclass(frozen=True, slots=True)
class Call:
    """What a tool knows of its caller and of the server."""

    services: Services
    identity: Identity
    wire: Wire


@dataclass(frozen=True, slots=True)
class Tool(Generic[A]):
    """One tool: its name and description are its function's, its models are the function's annotations."""

    name: str
    description: str
    scope: str
    read_only: bool
    destructive: bool
    idempotent: bool
    arguments: type[A]
    result: type[Result]
    run: Callable[[Call, A], Awaitable[Result]]
    scope_of: Callable[[A], str] | None

    @property
    def route(self) -> str:
        """The REST name: the tool's without `memory_`."""
        return self.name.removeprefix("memory_")

    def needed_scope(self, arguments: A) -> str:
        """The scope this call needs; some arguments need more than the tool itself."""
        return self.scope if self.scope_of is None else self.scope_of(arguments)


def tool(
    scope: str,
    *,
    read_only: bool = False,
    destructive: bool = False,
    idempotent: bool = False,
    scope_of: Callable[[Any], str] | None = None,
) -> Callable[[Callable[[Call, A], Awaitable[Result]]], Tool[A]]:
    """Declare a tool: decorate `async def memory_name(call: Call, args: NameArguments) -> NameResult`.

    The first paragraph of its docstring is what agents read.
    """

    def declare(run: Callable[[Call, A], Awaitable[Result]]) -> Tool[A]:
        hints = get_type_hints(run)
        return Tool(
            name=run.__name__,
            description=" ".join((inspect.getdoc(run) or "").split("\n\n")[0].split()),
            scope=scope,
            read_only=read_only,
            destructive=destructive,
            idempotent=idempotent or read_only,
            arguments=hints["args"],
            result=hints["return"],
            run=run,
            scope_of=scope_of,
        )

    return declare


class Registry:
    """Every tool by name, in the order declared."""

    def __init__(self, tools: Iterable[Tool[Any]]) -> None:
        self._tools = {each.name: each for each in tools}

    def __iter__(self) -> Iterator[Tool[Any]]:
        return iter(self._tools.values())

    def find(self, name: str) -> Tool[Any]:
        """The tool of that name. Raises: UnknownTool."""
        found = self._tools.get(name)
        if found is None:
            raise UnknownTool(name)
        return found

    async def invoke(
        self, services: Services, identity: Identity, wire: Wire, name: str, arguments: Mapping[str, Any]
    ) -> str:
        """Call a tool for a client and return its result as compact JSON. All fronts come through here.

        Raises: ServiceError: what the caller can act on; refusals of a client's wish are audited first.
        """
        try:
            tool = self.find(name)
            authorise_reach(identity, tool)
            parsed = parse_arguments(tool, arguments)
            authorise(identity, tool, parsed)
            result = await tool.run(Call(services, identity, wire), parsed)
        except AUDITED_REFUSALS as refusal:
            await audit_refusal(services, identity, name, arguments, refusal)
            raise
        return render(result)


def authorise_reach(identity: Identity, tool: Tool[Any]) -> None:
    """Refuse a client that may not call the tool at all, before its arguments are looked at. Raises: Forbidden."""
    if tool.scope_of is None:
        require_scope(identity, tool.name, tool.scope)


def authorise(identity: Identity, tool: Tool[A], arguments: A) -> None:
    """The one rule for all fronts: the client holds the scope, and what writes under a name needs a token.

    Raises: Forbidden.
    """
    require_scope(identity, tool.name, tool.needed_scope(arguments))
    if not tool.read_only and not identity.writer:
        raise Forbidden(f"{tool.name} writes, and only a client with a token may write; {identity.name} has none")


def require_scope(identity: Identity, name: str, scope: str) -> None:
    """Refuse a client that does not hold the scope. Raises: Forbidden."""
    if scope not in identity.scopes:
        raise Forbidden(f"{name} needs the scope {scope}; {identity.name} has {', '.join(sorted(identity.scopes))}")


def parse_arguments(tool: Tool[A], arguments: Mapping[str, Any]) -> A:
    """Check arguments against the tool's model. Raises: InvalidArgument: the first problem, in one line."""
    _check_extent(arguments)
    try:
        return tool.arguments.model_validate(arguments)
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "arguments"
        problem = first["msg"][0].lower() + first["msg"][1:]
        if first["type"] == "extra_forbidden":
            problem = f"unknown argument; {_takes(tool, first['loc'])}"
        raise InvalidArgument(field[:100], problem) from None


def _takes(tool: Tool[A], place: tuple[int | str, ...]) -> str:
    """What is allowed beside the unknown argument at this place, which may lie inside an argument."""
    model: Any = tool.arguments
    for part in place[:-1]:
        model = model.model_fields[part].annotation if isinstance(part, str) else get_args(model)[0]
    whole = ".".join(str(part) for part in place[:-1]) or tool.name
    return f"{whole} takes {', '.join(model.model_fields) or 'none'}"


def _check_extent(value: Any, field: str = "", depth: int = 0) -> None:
    """Refuse what is too long or too deep for any tool before the model names each of its problems.

    A megabyte of wrong list items is 300,000 problems and four seconds on the event loop.
    """
    if depth > DEPTH_MAX:
        raise InvalidArgument(field[:100], f"is nested deeper than {DEPTH_MAX} levels")
    if isinstance(value, Mapping):
        items: Iterable[tuple[Any, Any]] = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    else:
        return
    if len(value) > ITEMS_MAX:
        raise InvalidArgument(field[:100] or "arguments", f"has {len(value)} entries; at most {ITEMS_MAX} are read")
    for name, each in items:
        if isinstance(each, Mapping | list):
            _check_extent(each, f"{field}.{name}".removeprefix("."), depth + 1)


def render(result: Result) -> str:
    """A result as compact JSON with its own size in `estimated_tokens`."""
    size = len(result.model_dump_json(exclude_none=True).encode())
    result.estimated_tokens = estimate_tokens(size)
    return result.model_dump_json(exclude_none=True)


async def audit_refusal(
    services: Services, identity: Identity, name: str, arguments: Mapping[str, Any], refusal: ServiceError
) -> None:
    """Note in the audit that a client was refused; a store that does not take it is logged and no error."""
    context = {"code": type(refusal).__name__}
    if isinstance(refusal, SecretRefused):
        context |= {"field": refusal.field, "pattern": refusal.pattern}
    record_id = getattr(refusal, "record_id", None)
    namespace = arguments.get("namespace")

    def work(conn: Connection) -> None:
        audit.note(
            conn,
            at=services.stamp(),
            client=identity.name,
            action=name.removeprefix("memory_"),
            outcome="refused",
            record_id=record_id,
            namespace=namespace[:160] if isinstance(namespace, str) else None,
            context=context,
        )

    try:
        await services.store.write(work)
    except ServiceError as problem:
        log.warning("audit-missed", client=identity.name, action=name, reason=type(problem).__name__)
