"""Who is calling: the client table, which a new token refreshes without a restart."""

from collections.abc import Callable, Sequence

from agent_memory.domain.clients import Client, Identity, identify
from agent_memory.domain.errors import Unauthenticated
from agent_memory.web.gate import Scope
from agent_memory.web.requests import header


class Doorkeeper:
    """Names the client of a request from its Authorization header or its peer address."""

    def __init__(self, clients: Sequence[Client], *, reload: Callable[[], Sequence[Client] | None]) -> None:
        """
        Args:
          clients: the known clients.
          reload: called when a token is unknown; the clients anew if the token file changed, else None.
        """
        self.clients = tuple(clients)
        self._reload = reload

    def identify(self, scope: Scope) -> Identity:
        """The client behind an ASGI request. Raises: Unauthenticated."""
        authorization = header(scope["headers"], b"authorization")
        given = None if authorization is None else authorization.decode("latin-1")
        peer = (scope.get("client") or (None,))[0]
        try:
            return identify(self.clients, given, peer)
        except Unauthenticated:
            fresh = self._reload()
            if fresh is None:
                raise
            self.clients = tuple(fresh)
            return identify(self.clients, given, peer)
