"""Freezes a running server's records as a set of its own, to be labelled and measured with eval.py --snapshot.

    AGENT_MEMORY_URL=http://host:8765 python tools/retrieval-eval/fetch.py my-records.json [--codex] [--namespace N]

Reads the token from AGENT_MEMORY_TOKEN_CLAUDE (with --codex, AGENT_MEMORY_TOKEN_CODEX); the client needs the scope
export. Variables come from the process, then, on Windows, from the user's environment. Queries already in the file
are kept; add more by hand: {"id", "text", "scopes", "relevant", "kind"}.
"""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

import httpx


def variable(name: str) -> str:
    """An environment variable of the process, else of the Windows user; empty when neither has it."""
    if value := os.environ.get(name):
        return value
    if sys.platform == "win32":
        import winreg

        try:
            with winreg.OpenKey(winreg.HKEY_CURRENT_USER, "Environment") as key:
                return str(winreg.QueryValueEx(key, name)[0])
        except OSError:
            return ""
    return ""


def pages(client: httpx.Client, url: str, namespace: str | None) -> list[dict[str, Any]]:
    """Every record that the server exports."""
    records: list[dict[str, Any]] = []
    arguments: dict[str, Any] = {"namespace": namespace} if namespace else {}
    while True:
        answer = client.post(f"{url.rstrip('/')}/api/export", json=arguments)
        if answer.status_code != 200:
            raise SystemExit(f"the server answered {answer.status_code}: {answer.text[:300]}")
        page = answer.json()
        records += page["records"]
        print(f"\r{len(records)} records", end="", file=sys.stderr)
        if not page.get("next_cursor"):
            print(file=sys.stderr)
            return records
        arguments["cursor"] = page["next_cursor"]


def frozen(record: dict[str, Any]) -> dict[str, Any]:
    """The part of an exported record that ranking reads (the fields of `sets.Record`)."""
    return {
        "id": record["id"],
        "namespace": record["namespace"],
        "type": record["type"],
        "title": record["title"],
        "content": record["content"],
        "created": record.get("created_at", ""),
        "live": record.get("status", "active") in ("active", "candidate"),
        "session": record.get("session") or "",
        "position": record.get("position") or 0,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="where the set is written")
    parser.add_argument("--codex", action="store_true", help="use the token of the client codex")
    parser.add_argument("--namespace", help="only this namespace")
    options = parser.parse_args()
    name = "AGENT_MEMORY_TOKEN_CODEX" if options.codex else "AGENT_MEMORY_TOKEN_CLAUDE"
    url, token = variable("AGENT_MEMORY_URL"), variable(name)
    if not url or not token:
        raise SystemExit(f"AGENT_MEMORY_URL and {name} must be set")
    with httpx.Client(headers={"Authorization": f"Bearer {token}"}, timeout=60) as client:
        records = [frozen(record) for record in pages(client, url, options.namespace)]
    kept = json.loads(options.file.read_text(encoding="utf-8"))["queries"] if options.file.exists() else []
    options.file.write_text(json.dumps({"records": records, "queries": kept}, indent=1), encoding="utf-8")
    print(f"{len(records)} records, {len(kept)} queries → {options.file}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
