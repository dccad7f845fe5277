"""Measures the screen: recall and false positives per kind, how far structure alone carries, and times.

    python tools/screen-eval/eval.py [--times] [FILE.jsonl.gz ...]

A kind's own rules are the vendor rules that fire on any text of that kind; "own off" screens the kind without them,
which is what would happen had nobody listed that provider. "vendors off" is the screen with no vendor rule at all.
"""

import argparse
import base64
import gzip
import json
import random
import statistics
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from hostile import RECIPES, milliseconds  # noqa: E402

from agent_memory.domain.screen import engine  # noqa: E402

DATA = ROOT / "tests" / "domain" / "screen" / "data"
MIB = 1 << 20


def refuses(screen: engine.Screen, text: str) -> str | None:
    hit = next(screen.hits(text), None)
    return None if hit is None else hit.pattern


def own_vendor_rules(texts: list[str]) -> frozenset[str]:
    fired = {hit.pattern for text in texts for hit in engine.default().hits(text)}
    return frozenset(rule.name for rule in engine.TOKEN_RULES if rule.vendor and rule.name in fired)


def without(names: frozenset[str], compiled: dict[frozenset[str], engine.Screen]) -> engine.Screen:
    if names not in compiled:
        compiled[names] = engine.compile_screen(tuple(rule for rule in engine.TOKEN_RULES if rule.name not in names))
    return compiled[names]


def table(path: Path) -> None:
    kinds: dict[tuple[str, str], list[str]] = defaultdict(list)
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            case: dict[str, Any] = json.loads(line)
            kinds[case["label"], case["kind"]].append(case["text"])
    vendors = frozenset(rule.name for rule in engine.TOKEN_RULES if rule.vendor)
    compiled: dict[frozenset[str], engine.Screen] = {}
    totals: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    print(f"\n{path.name}\n{'kind':28}{'cases':>6}{'all':>6}{'own off':>9}{'vendors off':>13}")
    for (label, kind), texts in sorted(kinds.items(), reverse=True):
        own = own_vendor_rules(texts)
        screens = (engine.default(), without(own, compiled), without(vendors, compiled))
        counts = [sum(refuses(screen, text) is not None for text in texts) for screen in screens]
        for i, count in enumerate([len(texts), *counts]):
            totals[label][i] += count
        print(f"{label + ' ' + kind:28}{len(texts):6}{counts[0]:6}{counts[1]:9}{counts[2]:13}")
    for label, (cases, *counts) in totals.items():
        shares = " / ".join(f"{count / cases:.3f}" for count in counts)
        print(f"{label}: {cases} cases, refused {shares} (all rules / own off / vendors off)")


def hostile() -> dict[str, str]:
    source = random.Random(1)
    pieces = {
        "prose": "The nightly review ran at three and forgot duplicates again. ", "letters": "a", "newlines": "\n",
        "password ": "password ", "password=": "password=", "pass": "pass", "://a:b": "://a:b", "%41": "%41",
        "%252541": "%252541", "&lt;": "&lt;", "u0041": "\\u0041", "backslashes": "\\", "full width": "ａ",
        "zero width": "a\u200b", "wrapped lines": "ab\n", "PEM begins": "-----BEGIN PRIVATE KEY-----\n\n",
        "eyJ.": "eyJaaaaaaaaa.", "key 1": "key 1 ", "mysql": "mysql ", "cjk": "密码", "user:pw": "a:bcdef@",
        "groups": "AAAAA-", "quotes": '"',
    }  # fmt: skip
    texts = {name: piece * (MIB // len(piece.encode())) for name, piece in pieces.items()}
    texts |= {name: recipe.text() for name, recipe in RECIPES.items()}
    texts["base64"] = "".join(source.choices("ABCDEFGHIJKabcdefghijk0123456789+/", k=MIB))
    texts["lock file"] = "".join(
        f'"integrity": "sha512-{base64.b64encode(source.randbytes(64)).decode()}",\n' for _ in range(MIB // 112)
    )
    texts["beginnings"] = "".join(f"M{source.randbytes(20).hex()}." for _ in range(MIB // 42))
    texts["random ascii"] = "".join(chr(source.randrange(32, 127)) for _ in range(MIB))
    return texts


def times() -> None:
    start = time.perf_counter()
    engine.compile_screen()
    print(f"\ncompile {1e3 * (time.perf_counter() - start):.0f} ms")
    clean = ""
    for path in sorted(DATA.glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            clean += "\n".join(case["text"] for case in map(json.loads, lines) if case["label"] == "clean")
    dense = [milliseconds(clean[i : i + 2048], 4)[1] for i in range(0, len(clean) - 2048, 2048)]
    print(f"2 KB of the clean cases in a row (all about credentials): median {statistics.median(dense):.2f} ms")
    prose = hostile()["prose"][:2048]
    print(f"2 KB of prose: {milliseconds(prose, 5)[1]:.2f} ms")
    for name, text in hostile().items():
        first, best = milliseconds(text, 3)  # the first builds the automata's tables for what is new in the text
        pattern = refuses(engine.default(), text)
        print(f"1 MiB of {name:22}{best:9.1f} ms, first {first:9.1f} ms  {pattern or 'kept'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, help="labelled texts; by default the project's own")
    parser.add_argument("--times", action="store_true", help="times only")
    arguments = parser.parse_args()
    if not arguments.times:
        for path in arguments.files or sorted(DATA.glob("*.jsonl.gz")):
            table(path)
    times()


if __name__ == "__main__":
    main()
