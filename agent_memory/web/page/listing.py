"""What a list of records is narrowed to, as the page's form and its links say it."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urlencode

from agent_memory.domain.records import TYPES
from agent_memory.store.browse import Filters

TEXT_MAX_CHARS: Final = 500
PAGE_RECORDS: Final = 50
# What each choice of the form shows; forgotten records are shown by none.
STATUSES: Final[Mapping[str, tuple[str, ...]]] = {
    "live": ("active", "candidate"),
    "active": ("active",),
    "candidate": ("candidate",),
    "superseded": ("superseded",),
    "all": ("active", "candidate", "superseded"),
}


@dataclass(frozen=True, slots=True)
class Listing:
    """One list.

    Fields:
      text: words to search for; empty lists the newest.
      namespace, type: empty for all. status: a key of STATUSES.
      start: where this page of the list starts: without words the `seq` before which it lists, with words how many
        matches come before; 0 for the first page.
    """

    text: str = ""
    namespace: str = ""
    type: str = ""
    status: str = "live"
    start: int = 0

    @property
    def filters(self) -> Filters:
        """The filters of the store's statement."""
        return Filters(STATUSES[self.status], self.namespace, self.type)

    def at(self, start: int) -> "Listing":
        """The same list from another place on."""
        return replace(self, start=start)

    def query(self) -> str:
        """The query string of a link to this list.

        The words travel as base64url: the Supervisor turns URLs away in which words look like an attack, such as
        `concat(` (ADDON.md section 5).
        """
        packed = urlsafe_b64encode(self.text.encode()).rstrip(b"=").decode()
        arguments = {"words": packed, "namespace": self.namespace, "type": self.type}
        arguments["status"] = "" if self.status == "live" else self.status
        arguments["start"] = str(self.start) if self.start else ""
        return urlencode({key: value for key, value in arguments.items() if value}, safe="/")


def from_form(form: Mapping[str, str]) -> Listing:
    """The list that the search form asks for, from its start."""
    return _clean(form.get("text", ""), form)


def from_link(arguments: Mapping[str, str]) -> Listing:
    """The list that a link asks for. What it cannot mean is passed over, so that an old link still shows something."""
    packed = arguments.get("words", "")
    try:
        text = urlsafe_b64decode(packed + "=" * (-len(packed) % 4)).decode()
    except ValueError:
        text = ""
    start = arguments.get("start", "")
    return _clean(text, arguments).at(int(start) if start.isdecimal() and len(start) < 19 else 0)


def _clean(text: str, rest: Mapping[str, str]) -> Listing:
    kind, status = rest.get("type", ""), rest.get("status", "")
    return Listing(
        text=" ".join(text.split())[:TEXT_MAX_CHARS],
        namespace=rest.get("namespace", "").strip().lower()[:160],
        type=kind if kind in TYPES else "",
        status=status if status in STATUSES else "live",
    )
