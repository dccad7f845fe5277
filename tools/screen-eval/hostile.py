"""Looks for the text that costs the screen most: composes hostile mebibytes, keeps the slowest and changes it.

    python tools/screen-eval/hostile.py [--seed N] [--rounds N]

A recipe is a filler and tracks; a track drops one piece into the filler every so many bytes, `{n}` in it counting up so
that no place repeats. The search tries every piece at several densities, then random mixtures, then changes the worst
one, and prints what it found, to be kept in `RECIPES`, which `eval.py --times` measures.
"""

import argparse
import random
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from agent_memory.domain.screen import engine  # noqa: E402

MIB = 1 << 20
PERIODS = (64, 128, 256, 512, 1024, 4096, 16384, 65536)
FILLERS = {
    "letters": "a", "words": "the quick brown fox ", "lines": "the quick brown fox\n", "digits": "line 42 of 7\n",
    "cjk": "密码是新的", "emoji": "\U0001f600", "spaces": " ", "base64": "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo",
    "signs": "=\"':@%", "code": "    value = items[key].run(job)  # 3\n", "keys": "x9Kd_Pq2-",
    "look-alikes": "".join(f"{chr(code)}a" for code in range(0x1D400, 0x1D800)),
    "drawn": "".join(random.Random(1).choices("MNO-a", k=MIB)),
    "drawn groups": "".join(random.Random(2).choices("AB1:.-_ ", k=MIB)),
}  # fmt: skip
# What a place of every structure looks like, harmless in itself; beginnings of tokens; and disguises.
PIECES = (
    "token{n}: <x>", "key={n} ", "password for h{n}: see vault ", "Bearer aaaaaaaa{n} ", "Cookie: a{n}=b ",
    "x://a{n}:<b ", "x://a:${n}@ ", "ab:cd{n}e@host ", "hooks/aaaaaaaaaaaaaaaa{n} ", "mysql -u r{n} ", "curl -u a{n} ",
    " --token a{n} ", "echo a{n} | passwd ", "{n} is the key ", "log in a{n}/ ", "a / b{n} ", "recovery codes {n} ",
    "name: token{n}, value: ", "\nkey{n}\n-- ", "\nkey,b\na{n},c ", "auth('a', '{n} ", "db:5432:a:b{n}: ", "WIFI:{n} ",
    "\ntoken\naaaaaaaa{n} ", "psk a{n} ", "requirepass <{n}> ", "user{n}: ", "密码是{n} ", "пароль {n} ",
    "code is {n} ",
    "-----BEGIN PRIVATE KEY-----\n", "eyJaaaaaaaaa.", "ghp_aaaaaaaaaaaaaaaaaa{n} ", "sk-aaaaaaaaaaaaaaaaaa{n} ",
    "AAAAA-BBBBB-", '"kty": ', "$2b$12$", "acme_" + "a" * 30 + "{n} ", "123456789:", "key-", "sg.aaaaaaaaaaaaaaaaaa.",
    "&lt;", "&amp;amp;", "%41", "%252541", "\\u0041", "\\n", "\\x41", "\\\\\\\\n", "\u200b", "ａ", "\u2010", "é",
    "\n", "a\nb", "a1\nb2", '"\n"', "\\\n", "\r\n", "=", '"', "'", "://", "@", "|", " is ", "1 is ",
    "eyj---", "hook", "auth", " -b ", "bearer" + " " * 30, "name" + " " * 20 + "key", "homekitcodeééé",
    "mattercombo", "sl.", " login a / " + "@" * 60, "sshpass -p 'a" + "@" * 60,
    "Y3VybCAtdSBhZGE6PHg+IHRva2VuOiA8eD4gaw{n} ",
)  # fmt: skip


@dataclass(frozen=True)
class Recipe:
    filler: str
    tracks: tuple[tuple[str, int], ...]  # piece, and the bytes from one to the next

    def text(self, size: int = MIB) -> str:
        """The text: pieces at their places, filler between, `size` bytes or a few less."""
        filler = FILLERS[self.filler]
        places = sorted(
            (at, number, piece)
            for number, (piece, period) in enumerate(self.tracks)
            for at in range(number % 7, size, period)
        )
        long, width = filler * (size // len(filler.encode()) + 1), len(filler.encode()) / len(filler)
        parts, filled = [], 0  # bytes so far
        for at, _, piece in places:
            gap = int((at - filled) / width)
            if gap > 0:
                parts.append(long[:gap])
                filled += int(gap * width)
            parts.append(piece.replace("{n}", str(at)))
            filled += len(parts[-1].encode())
            if filled >= size:
                break
        return ("".join(parts) + long[: int(max(0, size - filled) / width)]).encode()[:size].decode("utf-8", "ignore")


# The slowest that the search has found, one for each way of being slow.
RECIPES: dict[str, Recipe] = {
    "open tokens": Recipe("lines", tuple((piece, 256) for piece in PIECES)),
    "one key never closed": Recipe("words", (("sk-aaaaaaaaaaaaaaaaaa{n} ", 64), ('"kty": ', 64))),
    "stated in Russian": Recipe("signs", (("пароль {n} ", 256), ("ａ", 4096), ("&lt;", 4096))),
    "half disguised": Recipe(
        "words", (("\\x41", 512), ("x://a{n}:<b ", 1024), ("eyJaaaaaaaaa.", 512), ("&amp;amp;", 4096))
    ),
    "long words": Recipe("letters", (("key={n} ", 1024), ("code is {n} ", 1024), ("user{n}: ", 1024), ("\\\n", 1024))),
    "all in every block": Recipe("letters", tuple((piece, 4096) for piece in PIECES)),
    "half of all": Recipe("keys", tuple((piece, 256) for piece in PIECES[::2])),
    "no shape begins here": Recipe("drawn", ()),
    "one token never ended": Recipe("letters", (("eyj---", 6),)),
    "blanks before names": Recipe("letters", (("bearer" + " " * 30, 36),)),
    "codes in Russian": Recipe("letters", (("homekitcodeééé", 14),)),
    "cookies": Recipe("words", (("Cookie: a{n}=b ", 64),)),
}


def milliseconds(text: str, repeats: int = 2) -> tuple[float, float]:
    """Processor time of a screening: the first, and the best of the others."""
    screen, taken = engine.default(), []
    for _ in range(1 + repeats):
        start = time.process_time()
        next(screen.hits(text), None)
        taken.append(1e3 * (time.process_time() - start))
    return taken[0], min(taken[1:])


def changed(recipe: Recipe, source: random.Random) -> Recipe:
    tracks = list(recipe.tracks)
    match source.randrange(5):
        case 0:
            return replace(recipe, filler=source.choice(sorted(FILLERS)))
        case 1 if len(tracks) > 1:
            tracks.pop(source.randrange(len(tracks)))
        case 2 | 3 if tracks:
            i = source.randrange(len(tracks))
            tracks[i] = (tracks[i][0], source.choice(PERIODS))
        case _:
            tracks += [(piece, source.choice(PERIODS)) for piece in source.sample(PIECES, source.randint(1, 6))]
    return replace(recipe, tracks=tuple(tracks))


def mixture(source: random.Random) -> Recipe:
    period = source.choice(PERIODS[2:])
    pieces = source.sample(PIECES, source.randint(2, len(PIECES)))
    return Recipe(source.choice(sorted(FILLERS)), tuple((piece, period) for piece in pieces))


def search(seed: int, rounds: int) -> list[tuple[float, float, Recipe]]:
    """Recipes with the times of their best and first run, slowest first."""
    source = random.Random(seed)
    tried = [Recipe("words", ((piece, period),)) for piece in PIECES for period in (PERIODS[0], PERIODS[3])]
    tried += [Recipe(filler, tuple((piece, period) for piece in PIECES)) for filler in FILLERS for period in PERIODS]
    tried += [mixture(source) for _ in range(rounds)]
    found = sorted((_scored(recipe) for recipe in tried), key=lambda one: one[0], reverse=True)
    for _ in range(rounds):
        found.append(_scored(changed(source.choice(found[:5])[2], source)))
        found.sort(key=lambda one: one[0], reverse=True)
    return found


def _scored(recipe: Recipe) -> tuple[float, float, Recipe]:
    first, best = milliseconds(recipe.text())
    return best, first, recipe


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=100)
    arguments = parser.parse_args()
    found = search(arguments.seed, arguments.rounds)
    for best, first, recipe in found[:8]:
        pattern = next(engine.default().hits(recipe.text()), None)
        print(f"{best:7.1f} ms, first {first:7.1f} ms  {pattern and pattern.pattern}  {recipe}")
    _, slowest, recipe = max(found, key=lambda one: one[1])
    print(f"slowest first run: {slowest:.1f} ms  {recipe}")


if __name__ == "__main__":
    main()
