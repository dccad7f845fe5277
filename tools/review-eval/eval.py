"""Measures the candidate review on labelled cases: what it forgets rightly, and what it forgets that it should keep.

Without a server the rule-only reviewer is measured. With `--url` a model is asked through the product's own client,
router, prompt and guards. `--bound` asks no reviewer: it counts what the guards would let a reviewer do that is always
wrong, and what they would keep a perfect one from doing.
"""

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import trio

from agent_memory.domain.plain_review import review_plainly
from agent_memory.domain.review import Origin, Ruling, Shown, Verdict, VerdictKind, rule, worker_count
from agent_memory.llm.chains import chains_of
from agent_memory.llm.endpoints import read_endpoints
from agent_memory.llm.router import Router, open_router
from agent_memory.llm.verdicts import review_candidate

CASES = Path(__file__).with_name("dev.jsonl")


@dataclass(frozen=True)
class Case:
    """A labelled candidate: the verdict it should get, and the record it repeats when that is duplicate."""

    id: str
    candidate: Shown
    neighbours: tuple[Shown, ...]
    expected: VerdictKind
    duplicate_of: str
    trap: str


@dataclass(frozen=True)
class Outcome:
    """What became of a case."""

    case: Case
    ruling: Ruling

    @property
    def right(self) -> bool:
        """Kept where it should be kept, forgotten for the right reason where it should be forgotten."""
        if not self.ruling.forget:
            return self.case.expected is VerdictKind.KEEP
        verdict = self.ruling.verdict
        return verdict.kind is self.case.expected and verdict.duplicate_of == self.case.duplicate_of


def read_cases(path: Path) -> list[Case]:
    """Read labelled cases, one JSON object a line."""
    return [_case(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def review_by_rule(cases: Iterable[Case]) -> list[Outcome]:
    """Review every case without a model."""
    return [
        Outcome(case, rule(case.candidate, case.neighbours, review_plainly(case.candidate, case.neighbours)))
        for case in cases
    ]


async def review_by_model(router: Router, cases: Sequence[Case]) -> list[Outcome]:
    """Review every case through a router, with as many workers as the nightly review would have."""
    send, receive = trio.open_memory_channel[Case](len(cases))
    outcomes: dict[str, Outcome] = {}

    async def work(own: trio.MemoryReceiveChannel[Case]) -> None:
        with own:
            async for case in own:
                reviewed = await review_candidate(router, case.candidate, case.neighbours)
                outcomes[case.id] = Outcome(case, reviewed.ruling)
                print(f"{len(outcomes)}/{len(cases)}", end="\r", file=sys.stderr)

    async with trio.open_nursery() as nursery:
        with send, receive:
            for case in cases:
                send.send_nowait(case)
            for _ in range(worker_count(router.live_count)):
                nursery.start_soon(work, receive.clone())
    return [outcomes[case.id] for case in cases]


def report(outcomes: Sequence[Outcome]) -> str:
    """The figures as text: forget rates per label, false forgets by id, refusals of the guards, and each trap."""
    lines = []
    for kind in (VerdictKind.DUPLICATE, VerdictKind.SESSION_STATE):
        of_kind = [one for one in outcomes if one.case.expected is kind]
        forgotten = sum(one.ruling.forget for one in of_kind)
        right = sum(one.right for one in of_kind)
        lines.append(f"{kind.value}: forgotten {_share(forgotten, len(of_kind))}, for the right reason {right}")
    kept = [one for one in outcomes if one.case.expected is VerdictKind.KEEP]
    false = [f"{one.case.id} ({one.case.trap})" for one in kept if one.ruling.forget]
    lines.append(f"keep: falsely forgotten {_share(len(false), len(kept))} {', '.join(false)}".rstrip())
    refused: defaultdict[str, int] = defaultdict(int)
    for one in outcomes:
        refused[one.ruling.refused or "-"] += 1
    lines.append("guards: " + ", ".join(f"{name} {count}" for name, count in sorted(refused.items()) if name != "-"))
    lines.append("right per trap:")
    traps: defaultdict[tuple[str, str], list[Outcome]] = defaultdict(list)
    for one in outcomes:
        traps[one.case.expected.value, one.case.trap].append(one)
    for (expected, trap), group in sorted(traps.items()):
        lines.append(f"  {expected:13} {trap:26} {_share(sum(one.right for one in group), len(group))}")
    return "\n".join(lines)


def bound(cases: Sequence[Case]) -> str:
    """What the guards alone leave open: right verdicts they refuse, and wrong ones they would let through."""
    blocked = [case.id for case in cases if case.duplicate_of and not _forgets(case, case.duplicate_of)]
    duplicates = sum(case.expected is VerdictKind.DUPLICATE for case in cases)
    keeps = [case for case in cases if case.expected is VerdictKind.KEEP]
    as_duplicate = [case.id for case in keeps if any(_forgets(case, record.id) for record in case.neighbours)]
    as_state = [
        case.id for case in keeps if rule(case.candidate, case.neighbours, Verdict(VerdictKind.SESSION_STATE)).forget
    ]
    return "\n".join(
        (
            f"duplicates that the guards refuse to forget: {_share(len(blocked), duplicates)} {' '.join(blocked)}",
            f"keeps that the guards would let fall as duplicate: {_share(len(as_duplicate), len(keeps))} "
            f"{' '.join(as_duplicate)}",
            f"keeps that the guards would let fall as session-state: {_share(len(as_state), len(keeps))}",
        )
    )


def _forgets(case: Case, record_id: str) -> bool:
    return rule(case.candidate, case.neighbours, Verdict(VerdictKind.DUPLICATE, record_id)).forget


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({part / whole:.0%})" if whole else "0 of 0"


def _case(line: dict[str, Any]) -> Case:
    neighbours = tuple(_shown(record) for record in line["neighbours"])
    expected = VerdictKind(line["expected"])
    return Case(line["id"], _shown(line["candidate"]), neighbours, expected, line["duplicate_of"] or "", line["trap"])


def _shown(record: dict[str, Any]) -> Shown:
    origin = Origin.EXTRACTED if record.get("source") == "extracted" else Origin.AGENT
    return Shown(record["id"], record["type"], record["title"], record["content"], origin)


async def _ask_server(args: argparse.Namespace, cases: Sequence[Case]) -> list[Outcome]:
    endpoints = read_endpoints(args.url, args.fallback_url, [])
    async with open_router(endpoints, chains_of(args.model, {}), args.timeout) as router:
        for server in router.servers:
            await server.probe(5)
        if not router.live_count:
            sys.exit(f"no server answers at {', '.join(server.url for server in router.servers)}")
        return await review_by_model(router, cases)


def main() -> None:
    """Run the eval that the arguments name and print its report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=Path, default=CASES, help="labelled cases, JSON lines")
    parser.add_argument("--url", default="", help="model server: ends in /v1 for OpenAI-style, anything else is Ollama")
    parser.add_argument("--fallback-url", default="", help="a second server with the same models")
    parser.add_argument("--model", default="qwen3.5:9b", help="model to ask")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds for one call")
    parser.add_argument("--limit", type=int, default=0, help="only the first cases, for a slow server")
    parser.add_argument("--bound", action="store_true", help="measure the guards alone")
    args = parser.parse_args()
    cases = read_cases(args.cases)[: args.limit or None]
    if args.bound:
        print(bound(cases))
    elif args.url:
        print(report(trio.run(_ask_server, args, cases)))
    else:
        print(report(review_by_rule(cases)))


if __name__ == "__main__":
    main()
