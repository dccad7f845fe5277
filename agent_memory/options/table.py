"""The one table of options: name, kind, default and effect. Validation and the documentation both derive from it."""

import json
from dataclasses import dataclass
from typing import Any

from agent_memory.domain.clients import SCOPES
from agent_memory.options.kinds import (
    Kind,
    choice,
    clock_or_off,
    decimal,
    flag,
    host,
    model_entry,
    namespace,
    network,
    text,
    url,
    whole,
)
from agent_memory.options.shapes import fields, list_of, list_of_objects


@dataclass(frozen=True)
class Option:
    """One option.

    Fields:
      default: the value as an options file would hold it; None when unset is a value of its own.
      effect: one line for people.
      built: whether the option does something yet; one that is set and does nothing says so once at start.
      secret: its value is never shown, not even in a refusal.
    """

    name: str
    kind: Kind
    default: Any
    effect: str
    built: bool = False
    secret: bool = False


_OWNER = text("an owner name of letters, digits, dots, hyphens and underscores", r"[A-Za-z0-9._-]{1,100}")
_MODEL = text("a model name of at most 200 characters", r"\S.{0,199}")
_PATH = text("a path of at most 1024 characters", r".{1,1024}")
_TOKEN = text("a token of 8 to 4096 characters without spaces", r"[!-~]{8,4096}", hidden=True)
_CLIENT = fields(
    {"name": text("1 to 40 of a-z, 0-9, _ and -", r"[a-z0-9][a-z0-9_-]{0,39}"), "scopes": list_of(choice(*SCOPES))},
    # hidden: people paste the token itself here
    {"ip": network(), "token_sha256": text("64 hex digits (the token's SHA-256)", r"[0-9A-Fa-f]{64}", hidden=True)},
)
_PROJECT = text("a project name or projects/<name>", r".{1,160}")
_LINK = fields({"project": _PROJECT, "namespaces": list_of(namespace())})
_PREFIX = text("github/<owner> or gitea/<owner>", r"(github|gitea)/[A-Za-z0-9._-]{1,100}")
_DEFAULT_SCOPES = ["read", "write", "delete"]
_DEFAULT_CLIENTS = [{"name": name, "scopes": _DEFAULT_SCOPES} for name in ("claude-code", "codex")]

# The order is that of the seed's option table (seed 001, Options), then those of DESIGN.md and the issues.
OPTIONS: tuple[Option, ...] = (
    Option("clients", list_of_objects(_CLIENT), _DEFAULT_CLIENTS,
           "Who may call: name, scopes, and optionally ip (reads only, by source address) or token_sha256.",
           built=True),
    Option("github_owner", _OWNER, None, "Narrows memory_namespace to GitHub remotes under this owner.", built=True),
    Option("forge_hosts", list_of(host()), [],
           "Gitea or Forgejo hosts whose remotes become gitea/<owner>/<repo>.", built=True),
    Option("forge_owner", _OWNER, None, "Narrows those hosts to remotes under this owner.", built=True),
    Option("project_links", list_of_objects(_LINK), [],
           "Repository namespaces that share a projects/<name> scope.", built=True),
    Option("hubs", list_of(namespace()), [],
           "Namespaces whose search and task match reach every other repository namespace.", built=True),
    Option("namespace_renames", list_of_objects(fields({"from": _PREFIX, "to": _PREFIX})), [],
           "Owner prefixes moved at start after an owner was renamed.", built=True),
    Option("review_at", clock_or_off(), "03:00", "Local time of the nightly candidate review.", built=True),
    Option("candidate_expiry_days", whole(0, 3650), 14,
           "Days an extracted candidate waits for review before it is forgotten; 0 keeps it.", built=True),
    Option("summary_candidates", flag(), False, "Keep each session's closing summary as a candidate.", built=True),
    Option("anchor_sweep_hours", whole(1, 168), 6, "Hours between checks of entity anchors.", built=True),
    Option("context_budget_tokens", whole(200, 32_000), 4000,
           "Default size of a memory_project_context packet.", built=True),
    Option("hard_context_limit_tokens", whole(200, 32_000), 8000,
           "Largest packet a caller may ask for.", built=True),
    Option("retention_deleted_days", whole(1, 3650), 30,
           "Days after which forgotten records, recorded queries and receipts are purged.", built=True),
    Option("ollama_url", url(), None,
           "Model server for enrichment: Ollama, or an OpenAI-style server when the URL ends in /v1.", built=True),
    Option("ollama_fallback_url", url(), None, "A second server with the same models.", built=True),
    Option("ollama_direct_urls", list_of(url()), [], "Servers used only while neither of those two is live.",
           built=True),
    Option("ollama_model", _MODEL, "qwen3.5:9b", "Default model; it always ends a chain.", built=True),
    Option("ollama_models", list_of(model_entry()), [], "Models per kind of job, most preferred first.", built=True),
    Option("ollama_timeout_s", decimal(1, 3600), 120, "Seconds one model call may take.", built=True),
    Option("embed_url", url(or_off=True), None,
           "External /v1 encoder; unset uses the embedded one, off turns vectors off.", built=True),
    Option("embed_model", _MODEL, "qwen3-emb-0.6b", "Model asked of the external encoder.", built=True),
    Option("embed_timeout_s", decimal(0.05, 60), 2, "Seconds a query waits for its vector before full text answers.",
           built=True),
    Option("embed_threads", whole(0, 64), 0, "CPU threads of the embedded encoder; 0 chooses by the machine.",
           built=True),
    Option("embed_model_dir", _PATH, None, "Folder of an installed model that replaces the embedded one.", built=True),
    Option("fusion", choice("rrf", "score"), "score",
           "How full-text and vector hits are merged: by reciprocal rank, or by score.", built=True),
    Option("allowed_hosts", list_of(host()), [], "Host headers that are answered; empty answers any.", built=True),
    Option("page_actions", flag(), False, "Buttons on the page that promote and forget candidates.", built=True),
    Option("home_assistant_url", url(), None,
           "Home Assistant for the anchor sweep when this is not its add-on, such as http://homeassistant.local:8123.",
           built=True),
    Option("home_assistant_token", _TOKEN, None, "Its long-lived access token.", secret=True, built=True),
)  # fmt: skip
BY_NAME = {option.name: option for option in OPTIONS}


def as_markdown() -> str:
    """The table for people: option, default, allowed values, effect."""
    rows = ["| Option | Default | Allowed | Effect |", "|---|---|---|---|"]
    for option in OPTIONS:
        default = "unset" if option.default is None else f"`{json.dumps(option.default)}`"
        cells = (f"`{option.name}`", default, option.kind.allowed, option.effect)
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows) + "\n"
