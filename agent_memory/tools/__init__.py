"""The memory_* tools: one module a family, each tool one typed function."""

from agent_memory.tools import anchors, evidence, orientation, packets, questions, reading, sessions, transfer, writing
from agent_memory.tools.registry import Registry

FAMILIES = (orientation, reading, packets, writing, evidence, anchors, sessions, questions, transfer)


def build_registry() -> Registry:
    """Every tool, in the order agents see them."""
    return Registry(tool for family in FAMILIES for tool in family.TOOLS)
