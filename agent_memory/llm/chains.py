"""Which models a job kind may use, most preferred first, read from the flat `kind:model` option."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent_memory.domain.errors import InvalidArgument
from agent_memory.llm.chat import Kind


@dataclass(frozen=True)
class Chains:
    """The chain of each kind; every chain ends with the configured default model and names no model twice."""

    default: str
    named: Mapping[Kind, tuple[str, ...]]

    def of(self, kind: Kind) -> tuple[str, ...]:
        """Models to ask in turn. A review without entries of its own asks what extraction asks: both reply in JSON."""
        models = self.named.get(kind, ())
        if not models and kind is Kind.REVIEW:
            models = self.named.get(Kind.EXTRACT, ())
        return (*(model for model in models if model != self.default), self.default)


def read_chains(default: str, entries: Sequence[str]) -> Chains:
    """Read `ollama_model` and the entries of `ollama_models`.

    A model's name may hold colons ("extract:qwen3.5:9b"): the kind ends at the first. Order within a kind is kept.
    Raises: InvalidArgument: an entry names no known kind or no model, or the default is empty.
    """
    if not default.strip():
        raise InvalidArgument("ollama_model", "found an empty name; allowed: a model that the server serves")
    named: dict[Kind, tuple[str, ...]] = {}
    for entry in entries:
        kind_text, _, model = (part.strip() for part in entry.partition(":"))
        if kind_text not in set(Kind) or not model:
            kinds = ", ".join(Kind)
            raise InvalidArgument("ollama_models", f"found {entry!r}; allowed: kind:model with kind one of {kinds}")
        kind = Kind(kind_text)
        named[kind] = tuple(dict.fromkeys((*named.get(kind, ()), model)))
    return Chains(default.strip(), named)
