"""Which models a job kind may use, most preferred first, ending in the configured default."""

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


def chains_of(default: str, named: Mapping[str, Sequence[str]]) -> Chains:
    """The chains of the options `ollama_model` and `ollama_models`, the latter as kind → models in their order.

    Raises: InvalidArgument: a kind is unknown, or the default is empty.
    """
    if not default.strip():
        raise InvalidArgument("ollama_model", "found an empty name; allowed: a model that the server serves")
    for kind in named:
        if kind not in set(Kind):
            raise InvalidArgument("ollama_models", f"found kind {kind!r}; allowed: {', '.join(Kind)}")
    chains = {Kind(kind): tuple(dict.fromkeys(models)) for kind, models in named.items()}
    return Chains(default.strip(), chains)
