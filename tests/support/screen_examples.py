"""Fills the rules' examples: `{an36}` becomes 36 letters and digits, the same ones each time."""

import gzip
import json
import random
import re
import string
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent.parent / "domain" / "screen" / "data"
_ALPHABETS = {
    "an": string.ascii_letters + string.digits,
    "hex": "0123456789abcdef",
    "up": string.ascii_uppercase + "234567",
    "b64": string.ascii_letters + string.digits + "+/",
    "dig": "123456789",
}
_SLOT = re.compile(r"\{(an|hex|up|b64|dig)(\d+)\}")


def filled(example: str) -> str:
    source = random.Random(example)
    return _SLOT.sub(lambda slot: "".join(source.choices(_ALPHABETS[slot[1]], k=int(slot[2]))), example)


def corpus(name: str) -> list[dict[str, Any]]:
    with gzip.open(DATA / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
