"""Plays example sessions: what a few agents leave, stored through the tools over HTTP as they would do it."""

import json
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx

STORY = Path(__file__).with_name("sessions.json")


class Agents:
    """Stores the sessions of `sessions.json`, each call as the client of the session."""

    def __init__(self, url: str, tokens: Mapping[str, str], set_back: Callable[[timedelta], None]) -> None:
        """Args: set_back: puts the server's clock that long before the present."""
        self._http = httpx.Client(base_url=url, timeout=30)
        self._tokens = tokens
        self._set_back = set_back
        self._ids: dict[str, str] = {}

    def play(self) -> None:
        """All sessions in order, then the disagreements and replacements that come of them."""
        story = json.loads(STORY.read_text(encoding="utf-8"))
        for session in story["sessions"]:
            self._set_back(timedelta(hours=session["hours_before"]))
            self._play(session)
        self._aftermath(story)
        self._set_back(timedelta())
        self._call("claude-code", "anchor_sweep", {})
        for query in story["last_searches"]:
            self._call("claude-code", "search", {"query": query, "namespace": "github/acme/shop"})

    def _play(self, session: Mapping[str, Any]) -> None:
        client, where = session["client"], {"namespace": session["namespace"]}
        self._call(client, "bootstrap", where)
        for query in session["searches"]:
            self._call(client, "search", {"query": query, **where})
        for record in session["records"]:
            self._ids[record["title"]] = self._call(client, "store", {**record, **where})["id"]
        self._call(client, "session_close", {"summary": session["summary"], **where})

    def _aftermath(self, story: Mapping[str, Any]) -> None:
        for each in story["seen"]:
            said = {"id": self._ids[each["title"]], "stance": each["stance"], "quote": each["quote"]}
            self._call(each["client"], "corroborate", said)
        new, old = story["replacement"], story["forgotten"]
        self._call(new["client"], "store", {**new["by"], "supersedes": self._ids[new["title"]]})
        self._call(old["client"], "forget", {"id": self._ids[old["title"]], "reason": old["reason"]})
        # A credential is refused; the page shows that, and nothing of it. Put together here, so that no scanner trips.
        leak = {
            "namespace": "github/acme/shop",
            "type": "fact",
            "title": "Bucket",
            "content": "AKIA" + "Z7Q4W2E6R8T1Y3U5",
        }
        self._post("cursor", "store", leak)

    def _call(self, client: str, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        answer = self._post(client, tool, arguments)
        answer.raise_for_status()
        found: dict[str, Any] = answer.json()
        return found

    def _post(self, client: str, tool: str, arguments: Mapping[str, Any]) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self._tokens[client]}"}
        return self._http.post(f"/api/{tool}", json=dict(arguments), headers=headers)
