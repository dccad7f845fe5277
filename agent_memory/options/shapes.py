"""Kinds made of other kinds: lists, and objects with named fields. An empty text inside them means unset."""

import json
from typing import Any

from agent_memory.options.errors import OptionError, did_you_mean, refuse
from agent_memory.options.kinds import Kind


def list_of(item: Kind) -> Kind:
    """A list of single values, each kept once, empty ones left out.

    An environment variable holds it as JSON (`["a", "b"]`) or as a comma list (`a, b`).
    """
    whole = _listing(item)

    def from_text(text: str) -> Any:
        if text.lstrip().startswith(("[", "{")):
            return json.loads(text)
        return [item.from_text(part.strip()) for part in text.split(",")]

    return Kind(whole.allowed, whole.read, from_text)


def list_of_objects(item: Kind) -> Kind:
    """A list of objects, every one kept: two that are the same are a mistake that whoever uses the list can name. A row
    without a single value, as the add-on's form adds one, is left out. An environment variable holds it as JSON.
    """
    whole = _listing(item, distinct=False)
    return Kind(whole.allowed, whole.read, json.loads)


def fields(required: dict[str, Kind], optional: dict[str, Kind] | None = None) -> Kind:
    """An object with these fields, read into a dict; an optional field that is absent or empty is left out of it."""
    optional = optional or {}
    known = {**required, **optional}
    allowed = "{" + ", ".join([*required, *(f"{name}?" for name in optional)]) + "}"

    def read(where: str, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise refuse(where, value, f"an object {allowed}")
        for name in value:
            if name not in known:
                raise OptionError(where, f"unknown field {name!r}{did_you_mean(name, known)}; allowed: {allowed}")
        given = {name: one for name, one in value.items() if not is_unset(one)}
        for name in required:
            if name not in given:
                raise OptionError(where, f"{name} is missing; allowed: {allowed}")
        return {name: known[name].read(f"{where}.{name}", one) for name, one in given.items()}

    return Kind(allowed, read)


def is_unset(value: object) -> bool:
    """Whether a value means "not set": the add-on's form posts "" for a touched text field; null says the same."""
    return value is None or value == ""


def _is_empty_row(value: object) -> bool:
    return isinstance(value, dict) and all(is_unset(one) or one == [] for one in value.values())


def _listing(item: Kind, *, distinct: bool = True) -> Kind:
    allowed = f"a list of {item.allowed}"

    def read(where: str, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise refuse(where, value, allowed)
        items: list[Any] = []
        for i, one in enumerate(value):
            if is_unset(one) or _is_empty_row(one):
                continue
            plain = item.read(f"{where}[{i}]", one)
            if not distinct or plain not in items:
                items.append(plain)
        return tuple(items)

    return Kind(allowed, read)
