"""What every encoder offers, whether it runs in this process or behind a URL."""

import hashlib
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float32]
Vector = npt.NDArray[np.float32]


class EncoderUnavailable(Exception):  # named like the other errors: what happened
    """The encoder gives no vectors now; search by full text and ask again after the next probe.

    Never told to a caller of the service: retrieval answers without the encoder.
    """


class TextRefused(EncoderUnavailable):
    """The encoder answers, but not to these texts (too long for it, say); leave them out and go on with others."""


class Encoder(Protocol):
    """Turns texts into unit vectors that a cosine compares. Methods are safe to cancel: nothing half done is kept."""

    @property
    def model(self) -> str:
        """The model's name, part of every digest."""

    @property
    def snapshot(self) -> str:
        """Which weights answer under that name; empty when unknown. May change with a probe."""

    @property
    def is_up(self) -> bool:
        """Whether the last probe was answered and no query has missed since."""

    @property
    def state(self) -> str:
        """One line for people: what it is, or why it does not answer."""

    def record_text(self, title: str, content: str) -> str:
        """What is read of a record."""

    def digest(self, text: str) -> str:
        """Names the vector of a record text: the same digest, the same vector."""

    async def probe(self) -> bool:
        """Find out whether the encoder answers; sets `is_up`, `snapshot` and `state`. Never raises for a failure."""

    async def encode_query(self, query: str) -> Vector:
        """The vector of a query: float32, shape (d,), unit length.

        Raises: EncoderUnavailable: no answer in time; the encoder then counts as down until the next probe.
        """

    async def encode_records(self, texts: Sequence[str]) -> Matrix:
        """The vectors of record texts: float32, shape (n, d), unit rows, in the order given.

        Raises: EncoderUnavailable, TextRefused: none of them was encoded.
        """

    async def retire(self) -> None:
        """Another model has taken its place: let go of the memory it holds. It need not answer from then on."""


def text_digest(model: str, snapshot: str, text: str) -> str:
    """SHA-256, hex, of model, snapshot and text (the seed's rule); NUL between them, so that no two triples meet."""
    return hashlib.sha256("\x00".join((model, snapshot, text)).encode("utf-8", "surrogatepass")).hexdigest()
