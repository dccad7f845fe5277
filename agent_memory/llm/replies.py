"""Reads what models write around their answer: thinking text, one Markdown fence, JSON that broke off."""

import json
import re
from typing import Any

from agent_memory.llm.chat import ChatReply
from agent_memory.llm.errors import BadReply

_TAG = "(?:think|thinking|thought|reasoning)"
_THINKING = re.compile(rf"\A\s*<{_TAG}>.*?</{_TAG}>", re.DOTALL | re.IGNORECASE)
_THINKING_START = re.compile(rf"\A\s*<{_TAG}>", re.IGNORECASE)
_THINKING_END = re.compile(rf"</{_TAG}>", re.IGNORECASE)
_FENCE_LINE = re.compile(r"^[ \t]{0,3}(`{3,}|~{3,})[^\n`]*$", re.MULTILINE)
# a model that runs past the end of its turn writes the tokens that should have ended it; what follows is no answer
_RUN_ON = re.compile(r"<\|[a-z_]{2,30}\|>|<(?:start|end)_of_turn>|</?s>|\[/?INST\]", re.IGNORECASE)
_UNSTORABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]")


def read_text(reply: ChatReply) -> str:
    """The text of a reply without thinking text, trimmed and safe to store.

    Raises: BadReply: nothing is left, or the thinking never ended.
    """
    text = _RUN_ON.split(after_unopened_thinking(strip_thinking(reply.text)), maxsplit=1)[0]
    text = _UNSTORABLE.sub("\ufffd", text).strip()
    if not text:
        raise BadReply("it is empty")
    return text


def read_object(reply: ChatReply) -> dict[str, Any]:
    """The JSON object of a reply, read inside one Markdown code fence where there is one.

    Raises: BadReply: it is no JSON object; the text says so when the server cut it off at the output cap.
    """
    text = strip_thinking(reply.text)
    try:
        value = _loads(unfence(text))
    except ValueError:
        value = _loads_after_thinking(text, reply.truncated)
    if not isinstance(value, dict):
        raise BadReply(f"it is a JSON {type(value).__name__}, not an object")
    return {str(_storable(key)): _storable(one) for key, one in value.items()}


def strip_thinking(text: str) -> str:
    """A reply after the thinking text it opens with, trimmed.

    Raises: BadReply: the reply is thinking to its end.
    """
    rest = _THINKING.sub("", text)
    if _THINKING_START.match(rest):
        raise BadReply("it is thinking text without an answer")
    return rest.strip()


def after_unopened_thinking(text: str) -> str:
    """What follows a closing tag that nothing opened; a template may open the thinking before the reply begins."""
    return _THINKING_END.split(text, maxsplit=1)[-1].strip()


def unfence(text: str) -> str:
    """The inside of a text's only Markdown code fence; a text without one, or with several, as it is."""
    if text.lstrip().startswith("{"):
        return text
    marks = list(_FENCE_LINE.finditer(text))
    if len(marks) == 1 and marks[0].group(1)[0] == "`":  # cut off before the closing fence: let the JSON tell
        return text[marks[0].end() :].strip()
    if len(marks) != 2:
        return text
    return text[marks[0].end() : marks[1].start()].strip()


def _loads(text: str) -> Any:
    try:
        return json.loads(text, strict=False)  # models write line breaks inside strings
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _loads_after_thinking(text: str, truncated: bool) -> Any:
    # only now, since an answer may speak of thinking tags inside its strings
    try:
        return _loads(unfence(after_unopened_thinking(text)))
    except ValueError:
        raise BadReply("it was cut off at the output cap" if truncated else "it is not JSON") from None


def _storable(value: Any) -> Any:
    """The same JSON value with strings that SQLite and UTF-8 can hold."""
    if isinstance(value, str):
        return _UNSTORABLE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_storable(one) for one in value]
    if isinstance(value, dict):
        return {_storable(key): _storable(one) for key, one in value.items()}
    return value
