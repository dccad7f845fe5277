"""The page's templates and assets: loaded once, every value escaped, a missing name an error."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from agent_memory.web.page import drawings, wording

ASSETS: Final = {
    "page.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}


@dataclass(frozen=True, slots=True)
class Asset:
    """A static file: its bytes, its content type, and the digest that its links carry."""

    body: bytes
    content_type: str
    digest: str


def load_assets() -> Mapping[str, Asset]:
    """The style sheet, the script and the icon, by name."""
    folder = resources.files("agent_memory.web.page") / "static"
    found = {}
    for name, content_type in ASSETS.items():
        body = (folder / name).read_bytes()
        found[name] = Asset(body, content_type, hashlib.sha256(body).hexdigest()[:12])
    return found


class Templates:
    """Draws views as HTML."""

    def __init__(self, assets: Mapping[str, Asset]) -> None:
        self._environment = Environment(
            loader=PackageLoader("agent_memory.web.page"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.globals |= {
            "bar": drawings.bar,
            "columns": drawings.columns,
            "dot": drawings.dot,
            "number": wording.number,
            "count": wording.count,
            "assets": {name: f"static/{name}?v={asset.digest}" for name, asset in assets.items()},
        }

    def render(self, template: str, values: Mapping[str, Any]) -> str:
        """A template's HTML."""
        return self._environment.get_template(template).render(values)
