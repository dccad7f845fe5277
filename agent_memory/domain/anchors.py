"""stand-in until the anchors room lands"""

from agent_memory.domain.errors import InvalidArgument

KINDS = ("entity", "path", "host", "url")


def parse(text: str) -> tuple[str, str]:
    kind, _, rest = text.partition(":")
    if kind not in KINDS or not rest:
        raise InvalidArgument("anchors", "must start with entity:, path:, host: or url:")
    return kind, text
