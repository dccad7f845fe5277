"""Vectors of texts: from a file that `embed_eval.py` wrote, or from the product's embedded encoder on the spot."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from agent_memory.encoder.textmodel import TextModel, load_default

Matrix = npt.NDArray[np.float32]


class Vectors(Protocol):
    name: str

    def records(self, texts: Sequence[str]) -> Matrix: ...

    def queries(self, texts: Sequence[str]) -> Matrix: ...


class Embedded:
    """all-MiniLM-L6-v2 as the product runs it; what it encoded is kept beside the system's other caches."""

    name = "all-MiniLM-L6-v2 int8"

    def __init__(self, cache: Path | None, threads: int = 1) -> None:
        self._threads = threads
        self._model: TextModel | None = None
        self._cache = cache
        self._known: dict[str, npt.NDArray[np.float32]] = {}
        if cache is not None and cache.exists():
            with np.load(cache) as kept:
                self._known = dict(zip(kept["keys"].tolist(), kept["vectors"], strict=True))

    def records(self, texts: Sequence[str]) -> Matrix:
        keys = [key_of(text) for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._known}
        if missing:
            self._model = self._model or load_default(self._threads)
            self._known |= dict(zip(missing, self._model.embed(list(missing.values())), strict=True))
            if self._cache is not None:
                np.savez(self._cache, keys=np.array(list(self._known)), vectors=np.array(list(self._known.values())))
        return np.array([self._known[key] for key in keys], dtype=np.float32)

    queries = records  # this model reads queries and records alike


class Fetched:
    """Vectors of an external encoder, as `embed_eval.py` wrote them."""

    def __init__(self, file: Path) -> None:
        data = json.loads(file.read_text(encoding="utf-8"))
        self.name = f"{data['model']} ({data['snapshot'] or 'no snapshot'})"
        self._records, self._queries = data["records"], data["queries"]

    def records(self, texts: Sequence[str]) -> Matrix:
        return self._of(self._records, texts)

    def queries(self, texts: Sequence[str]) -> Matrix:
        return self._of(self._queries, texts)

    def _of(self, kept: dict[str, list[float]], texts: Sequence[str]) -> Matrix:
        missing = [text for text in texts if key_of(text) not in kept]
        if missing:
            raise SystemExit(f"{len(missing)} texts have no vector in the file; run embed_eval.py again")
        return np.array([kept[key_of(text)] for text in texts], dtype=np.float32)


def key_of(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
