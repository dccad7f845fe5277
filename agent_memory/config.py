"""The one place where configuration is read: the data folder, and defaults, options file and environment in turn."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import time
from pathlib import Path
from typing import Any

import platformdirs

from agent_memory.domain import namespaces
from agent_memory.domain.clients import Client
from agent_memory.options.consistency import build
from agent_memory.options.errors import OptionError, OptionsFileError, did_you_mean
from agent_memory.options.shapes import is_unset
from agent_memory.options.table import BY_NAME, OPTIONS

ENVIRONMENT_PREFIX = "AGENT_MEMORY_"
# Names with the prefix that are no options: the data folder, and what client-side commands and hooks read.
NOT_OPTIONS = frozenset({"DATA", "URL", "TOKEN"})
NOT_OPTION_PREFIXES = ("TOKEN_", "HOOK_")
ADDON_DATA = Path("/data")  # where the Supervisor mounts the add-on's data
OPTIONS_FILE = "options.json"
MAX_OPTIONS_BYTES = 1 << 20
SUPERVISOR_API = "http://supervisor/core"  # ADDON.md section 6


@dataclass(frozen=True)
class HomeAssistant:
    """Where entity states are read: `<url>/api/states` with this bearer token."""

    url: str
    token: str = field(repr=False)


@dataclass(frozen=True)
class Settings:
    """Everything configured, as plain values to hand down; one field per option of `options.table`, of the same name.

    Fields beside the options: the absolute data folder, the options file that was read (None: there was none), the
    names of options that a source set, and Home Assistant's access (None: the sweep stays off).
    """

    data_dir: Path
    options_file: Path | None
    given: frozenset[str]
    home_assistant: HomeAssistant | None
    in_addon: bool

    clients: tuple[Client, ...]
    github_owner: str | None
    forge_hosts: tuple[str, ...]
    forge_owner: str | None
    project_links: Mapping[str, tuple[str, ...]]
    hubs: tuple[str, ...]
    namespace_renames: tuple[tuple[str, str], ...]
    review_at: time | None
    candidate_expiry_days: int
    summary_candidates: bool
    anchor_sweep_hours: int
    context_budget_tokens: int
    hard_context_limit_tokens: int
    retention_deleted_days: int
    ollama_url: str | None
    ollama_fallback_url: str | None
    ollama_direct_urls: tuple[str, ...]
    ollama_model: str
    ollama_models: Mapping[str, tuple[str, ...]]
    ollama_timeout_s: float
    embed_url: str | None
    embed_model: str
    embed_timeout_s: float
    embed_threads: int
    embed_model_dir: Path | None
    fusion: str
    allowed_hosts: tuple[str, ...]
    page_actions: bool
    home_assistant_url: str | None
    home_assistant_token: str | None = field(repr=False)

    @property
    def forge_rules(self) -> namespaces.ForgeRules:
        """The rules that `memory_namespace` applies to remotes."""
        return namespaces.ForgeRules(self.github_owner, self.forge_hosts, self.forge_owner)

    def without_effect(self) -> tuple[str, ...]:
        """Options that someone set and that do nothing yet, in table order; the start says so once."""
        return tuple(option.name for option in OPTIONS if option.name in self.given and not option.built)


def load(data: str | None, options: str | None, environment: Mapping[str, str]) -> Settings:
    """Read and check the whole configuration.

    Sources, the later over the earlier: the table's defaults; the options file (`options`, else `options.json` in the
    data folder when there is one); `AGENT_MEMORY_<OPTION>`. An empty text or null leaves the earlier source's value.

    Args: data: the folder of `--data`; options: the file of `--options`; environment: `os.environ`.
    Raises: OptionError: one line for the operator; the start ends.
    """
    folder = data_folder(data, environment)
    file = Path(options).expanduser().absolute() if options else folder / OPTIONS_FILE
    # isfile: False, not an error, for a folder this user may not look into; the store then refuses it with a reason
    present = options is not None or os.path.isfile(file)
    raw, labels = _from_environment(_from_file(file) if present else {}, environment)
    values = {o.name: _read(labels.get(o.name, o.name), o.name, raw.get(o.name, o.default)) for o in OPTIONS}
    values = build(values)
    if values["embed_model_dir"] is not None:
        values["embed_model_dir"] = (
            folder / Path(values["embed_model_dir"]).expanduser()
        )  # relative: in the data folder
    supervisor_token = environment.get("SUPERVISOR_TOKEN") or None
    return Settings(
        data_dir=folder,
        options_file=file if present else None,
        given=frozenset(raw),
        home_assistant=_home_assistant(values, supervisor_token),
        in_addon=supervisor_token is not None,
        **values,
    )


def data_folder(data: str | None, environment: Mapping[str, str], addon_data: Path = ADDON_DATA) -> Path:
    """The absolute data folder: `--data`, else `/data` when it holds options.json (the add-on), else
    `$AGENT_MEMORY_DATA`, else the platform's user-data folder. It need not exist yet."""
    if data:
        return Path(data).expanduser().absolute()
    if os.path.isfile(addon_data / OPTIONS_FILE):
        return addon_data
    if named := environment.get(f"{ENVIRONMENT_PREFIX}DATA"):
        return Path(named).expanduser().absolute()
    return Path(platformdirs.user_data_dir("agent-memory", appauthor=False)).absolute()


def _from_file(path: Path) -> dict[str, Any]:
    """The options a file sets, unset ones left out. Messages never hold its content: it may hold a token."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_OPTIONS_BYTES + 1)
    except OSError as error:
        raise OptionsFileError(path, f"cannot be read ({error.strerror})") from None
    if len(content) > MAX_OPTIONS_BYTES:
        raise OptionsFileError(path, f"over {MAX_OPTIONS_BYTES} bytes")
    try:
        # utf-8-sig: Windows editors put a byte-order mark first
        found = json.loads(content.decode("utf-8-sig"), object_pairs_hook=_without_repeats)
    except UnicodeDecodeError:
        raise OptionsFileError(path, "not UTF-8 text") from None
    except json.JSONDecodeError as error:
        raise OptionsFileError(path, f"not JSON at line {error.lineno}, column {error.colno}: {error.msg}") from None
    except (RecursionError, ValueError) as error:
        raise OptionsFileError(path, str(error) if isinstance(error, ValueError) else "nested too deep") from None
    if not isinstance(found, dict):
        raise OptionsFileError(path, "expected one JSON object with the options")
    for name in found:
        _known(name, name)
    return {name: value for name, value in found.items() if not is_unset(value)}


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"{name[:60]!r} stands twice in one object")
        found[name] = value
    return found


def _from_environment(raw: dict[str, Any], environment: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """The options with the environment's laid over them, and for those the label that refusals use."""
    merged, labels = dict(raw), {}
    for variable, text in sorted(environment.items()):
        suffix = variable.removeprefix(ENVIRONMENT_PREFIX)
        if suffix == variable or suffix in NOT_OPTIONS or suffix.startswith(NOT_OPTION_PREFIXES):
            continue
        name = suffix.lower()
        label = f"{name} (from {variable})"
        _known(name, label)
        if text.strip():
            labels[name] = label
            try:
                merged[name] = BY_NAME[name].kind.from_text(text.strip())
            except (ValueError, RecursionError):
                raise OptionError(label, f"not JSON; allowed: JSON with {BY_NAME[name].kind.allowed}") from None
    return merged, labels


def _known(name: str, label: str) -> None:
    if name not in BY_NAME:
        hint = did_you_mean(name, BY_NAME) or f"; known: {', '.join(BY_NAME)}"
        raise OptionError(label[:120], f"unknown{hint}")


def _read(label: str, name: str, value: Any) -> Any:
    return None if value is None else BY_NAME[name].kind.read(label, value)


def _home_assistant(values: Mapping[str, Any], supervisor_token: str | None) -> HomeAssistant | None:
    if values["home_assistant_url"] is not None:
        return HomeAssistant(values["home_assistant_url"], values["home_assistant_token"])
    return HomeAssistant(SUPERVISOR_API, supervisor_token) if supervisor_token else None
