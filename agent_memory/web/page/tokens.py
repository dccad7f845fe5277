"""Tokens that tie a button to the process that drew it and to the user it was drawn for, against forged requests."""

import hashlib
import hmac
from collections.abc import Callable
from typing import Final

SECRET_BYTES: Final = 32


class FormTokens:
    """Makes and checks the token of a form. A restart makes older ones invalid: reload the page."""

    def __init__(self, entropy: Callable[[int], bytes]) -> None:
        """Args: entropy: `secrets.token_bytes`, or fixed bytes in tests."""
        self._secret = entropy(SECRET_BYTES)

    def token(self, user: str) -> str:
        """The token for a user's forms: 64 hex digits."""
        return hmac.new(self._secret, user.encode(), hashlib.sha256).hexdigest()

    def holds(self, user: str, token: str) -> bool:
        """Whether a token was made here for this user; takes the same time either way."""
        return hmac.compare_digest(self.token(user).encode(), token.encode("utf-8", "replace"))
