"""Example sessions: what a few agents leave in a day, stored through the tools over HTTP as they would do it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import httpx

SHOP = "github/acme/shop"
BILLING = "github/acme/billing"
HOME = "gitea/home/automation"
DOTFILES = "local/dotfiles"


@dataclass(frozen=True)
class Session:
    """One conversation: who, where, how long before the picture, what it searched, stored and closed with."""

    client: str
    namespace: str
    before: timedelta
    records: tuple[tuple[str, str, str], ...]
    summary: str
    searches: tuple[str, ...] = ()
    anchors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def hours(count: float) -> timedelta:
    return timedelta(hours=count)


SESSIONS = (
    Session(
        "claude-code",
        SHOP,
        timedelta(days=47),
        (
            ("decision", "Orders are written to the outbox first", "The worker publishes from the outbox table, so that an order is never lost between commit and broker."),
            ("constraint", "Prices are integer cents everywhere", "Floats broke the totals of 14 invoices. Format at the edge only."),
            ("procedure", "Release: tag, wait for CI, run deploy/promote", "make tag; CI builds the image; deploy/promote moves it from staging to production."),
            ("fact", "Staging runs Postgres 15, production 16", "The upgrade of staging waits for the backup job."),
        ),
        "Read the order path and wrote down how it commits.",
    ),
    Session(
        "codex",
        SHOP,
        timedelta(days=39),
        (
            ("failure", "Parallel pytest deadlocks on the schema fixture", "pytest -n 4 hangs: two workers create the schema at once. Give each worker its own database."),
            ("requirement", "Exports keep the column order of 2024", "Accounting imports by position."),
            ("preference", "Small commits, each with its test", "The reviewer reads commit by commit."),
        ),
        "Made the test suite run in parallel.",
    ),
    Session(
        "claude-code",
        BILLING,
        hours(22.4),
        (
            ("decision", "Invoices are immutable after sending", "A correction is a new credit note that names the invoice."),
            ("constraint", "VAT rates come from the rates table, never from code", "Rates change by country and date."),
            ("open-work", "Reminders ignore public holidays", "The schedule counts calendar days; holidays of the customer's country are missing."),
        ),
        "Looked into reminders; found that holidays are not known to the scheduler.",
        ("invoice correction", "vat rate change"),
    ),
    Session(
        "codex",
        SHOP,
        hours(19.7),
        (
            ("failure", "Checkout 502 when the cart holds over 200 items", "The gateway cuts at 30 s; the price service is asked once an item. Ask in batches of 50."),
            ("procedure", "Profile a slow request with bin/trace", "bin/trace URL writes a flame graph to tmp/trace."),
            ("fact", "The price service takes 50 ids a call", "Documented in its OpenAPI file, limit enforced with 413."),
        ),
        "Found the cause of slow checkouts: one price call an item.",
        ("checkout timeout", "gateway limits", "price service"),
    ),
    Session(
        "cursor",
        HOME,
        hours(16.2),
        (
            ("fact", "The heat pump reports power on sensor.heatpump_power", "Watts, every 10 s; unavailable while it boots."),
            ("procedure", "Reload automations without a restart", "Developer tools, YAML, reload automations."),
            ("constraint", "No automation writes to the boiler between 22 and 6", "The neighbours hear it."),
            ("preference", "Blueprints over copied YAML", "One place to change."),
        ),
        "Collected what the heating automations rely on.",
        ("heat pump power",),
        {"The heat pump reports power on sensor.heatpump_power": ("entity:sensor.heatpump_power",)},
    ),
    Session(
        "claude-code",
        SHOP,
        hours(11.5),
        (
            ("decision", "Batch price calls behind one cache", "Prices are cached for 60 s by id; the cart asks in batches of 50."),
            ("open-work", "Cache invalidation on price import", "The import runs at 04:00 and should drop the cache."),
            ("fact", "The cart test data lives in fixtures/carts", "Built by fixtures/build.py from production shapes, names made up."),
            ("decision", "Feature flags are read once a request", "Reading twice gave two answers in one page."),
        ),
        "Built batched price calls with a cache of 60 s.",
        ("price service limit", "cart fixtures"),
    ),
    Session(
        "codex",
        BILLING,
        hours(7.8),
        (
            ("failure", "PDF fonts miss the Polish letters", "The subset font has no ł and ń; embed the full Noto Sans."),
            ("requirement", "Every PDF is PDF/A-3 with the XML attached", "Law from 2027 on."),
        ),
        "Fixed fonts in invoices.",
        ("pdf font",),
    ),
    Session(
        "claude-code",
        DOTFILES,
        hours(4.6),
        (
            ("preference", "fish in the terminal, bash in scripts", "Scripts run on servers too."),
            ("procedure", "New laptop: run bootstrap, then log in to the agents", "bootstrap installs packages and links the files."),
        ),
        "Moved the shell configuration.",
    ),
    Session(
        "codex",
        SHOP,
        hours(1.3),
        (
            ("failure", "Import drops the cache before the new prices commit", "Readers fill the cache with old prices again. Drop it after the commit."),
            ("procedure", "Replay an import: bin/import --replay DATE", "Reads the kept files of that day."),
            ("fact", "Import files are kept for 30 days", "In the bucket shop-imports."),
        ),
        "Found why old prices came back after an import, and fixed the order.",
        ("price import cache", "replay import", "import files"),
    ),
)  # fmt: skip


class Agents:
    """Stores sessions, each call as the client of the session."""

    def __init__(self, url: str, tokens: Mapping[str, str], set_back: Callable[[timedelta], None]) -> None:
        """Args: set_back: puts the server's clock that long before the present."""
        self._http = httpx.Client(base_url=url, timeout=30)
        self._tokens = tokens
        self._set_back = set_back

    def call(self, client: str, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {self._tokens[client]}"}
        answer = self._http.post(f"/api/{tool}", json=dict(arguments), headers=headers)
        answer.raise_for_status()
        found: dict[str, Any] = answer.json()
        return found

    def play(self) -> None:
        """All sessions in order, with the disagreements and replacements that come with them."""
        ids: dict[str, str] = {}
        for session in SESSIONS:
            self._set_back(session.before)
            ids |= self._play(session)
            if session.before < hours(2):
                self._aftermath(ids)
        self._set_back(timedelta())
        self.call("claude-code", "anchor_sweep", {})
        for query in ("how are orders published", "price cache", "release"):
            self.call("claude-code", "search", {"query": query, "namespace": SHOP})

    def _play(self, session: Session) -> dict[str, str]:
        call, where = self.call, {"namespace": session.namespace}
        call(session.client, "bootstrap", where)
        for query in session.searches:
            call(session.client, "search", {"query": query, **where})
        ids = {}
        for kind, title, content in session.records:
            arguments = {"type": kind, "title": title, "content": content, **where}
            anchors = session.anchors.get(title)
            ids[title] = call(session.client, "store", arguments | ({"anchors": anchors} if anchors else {}))["id"]
        call(session.client, "session_close", {"summary": session.summary, **where})
        return ids

    def _aftermath(self, ids: Mapping[str, str]) -> None:
        seen = (
            ("codex", "Orders are written to the outbox first", "corroborates", "outbox.py commits the order and its event together"),
            ("cursor", "Orders are written to the outbox first", "corroborates", "the broker was down for an hour and nothing was lost"),
            ("codex", "Staging runs Postgres 15, production 16", "contradicts", "SELECT version() on staging says 16.4"),
            ("claude-code", "Batch price calls behind one cache", "corroborates", "p95 of checkout fell from 9 s to 0.8 s"),
        )  # fmt: skip
        for client, title, stance, quote in seen:
            self.call(client, "corroborate", {"id": ids[title], "stance": stance, "quote": quote})
        arguments = {
            "namespace": SHOP,
            "type": "procedure",
            "title": "Release: tag, wait for CI, promote, watch the error rate",
            "content": "make tag; CI builds the image; deploy/promote; watch errors for ten minutes.",
            "supersedes": ids["Release: tag, wait for CI, run deploy/promote"],
        }
        self.call("claude-code", "store", arguments)
        self.call("codex", "forget", {"id": ids["Import files are kept for 30 days"], "reason": "it is in the runbook"})
        self._refusal()

    def _refusal(self) -> None:
        """A client that tries to store a credential; the page shows the refusal and nothing of it."""
        content = "The key is AKIA" + "Z7Q4W2E6R8T1Y3U5"
        arguments = {"namespace": SHOP, "type": "fact", "title": "Bucket access", "content": content}
        headers = {"Authorization": f"Bearer {self._tokens['cursor']}"}
        self._http.post("/api/store", json=arguments, headers=headers)
