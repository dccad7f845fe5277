"""Refusals of options: one line that names the option, what was found and what is allowed, and shows no secret."""

import difflib
from collections.abc import Iterable

_SHOWN_CHARS = 60  # of a refused value in a one-line message


class OptionError(ValueError):
    """An option cannot be used: stops the start with one line. Not a ServiceError, as no caller is told of it."""

    def __init__(self, option: str, problem: str) -> None:
        super().__init__(_one_line(f"option {option}: {problem}"))
        self.option = option


class OptionsFileError(OptionError):
    """The options file cannot be read as a JSON object; the text holds its path and never its content."""

    def __init__(self, path: object, problem: str) -> None:
        ValueError.__init__(self, _one_line(f"options file {path}: {problem}"))
        self.option = ""


def refuse(where: str, value: object, allowed: str, *, hidden: bool = False) -> OptionError:
    """An OptionError for a value outside what is allowed; `hidden` tells its kind and length without showing it."""
    return OptionError(where, f"found {described(value, hidden=hidden)}; allowed: {allowed}")


def described(value: object, *, hidden: bool = False) -> str:
    """What was found, short, on one line; the content of lists and objects is never shown: it may hold a credential."""
    if isinstance(value, str):
        if hidden:
            return f"a text of {len(value)} characters"
        return repr(value if len(value) <= _SHOWN_CHARS else value[:_SHOWN_CHARS] + "…")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return "a number" if hidden else f"the number {str(value)[:_SHOWN_CHARS]}"
    return {list: "a list", dict: "an object", type(None): "null"}.get(type(value), "something else")


def yaml_hint(value: object) -> str:
    """What YAML 1.1 may have done to a word or a time written without quotes, or nothing.

    It reads `off` as false and `12:30` as the base-60 number 750 (ADDON.md section 3).
    """
    if isinstance(value, bool):
        word = "on, yes or true" if value else "off, no or false"
        return f" (YAML reads an unquoted {word} as {described(value)}: put the value in quotes)"
    if isinstance(value, int) and 0 <= value < 24 * 60:
        return f" (YAML reads an unquoted {value // 60:02}:{value % 60:02} as {value}: put the time in quotes)"
    return ""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` for the nearest known word, or nothing."""
    near = difflib.get_close_matches(word.lower().replace("-", "_"), list(known), n=1, cutoff=0.6)
    return f"; did you mean {near[0]!r}?" if near else ""


def _one_line(text: str) -> str:
    """Option names come from files too: nothing in them may break the one line of the log."""
    return "".join(character if character.isprintable() else "?" for character in text)
