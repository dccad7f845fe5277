"""Who is calling: the client table, which a new token refreshes without a restart."""

from collections.abc import Callable, Sequence

from agent_memory.domain.clients import Client, Identity, identify
from agent_memory.web.gate import Scope
from agent_memory.web.requests import header


class Doorkeeper:
    """Names the client of a request from its Authorization header or its peer address."""

    def __init__(self, clients: Sequence[Client], *, reload: Callable[[], Sequence[Client] | None]) -> None:
        """
        Args:
          clients: the known clients.
          reload: asked before each request; the clients anew if the token file changed, else None.
        """
        self.clients = tuple(clients)
        self._reload = reload

    def identify(self, scope: Scope) -> Identity:
        """The client behind an ASGI request. Raises: Unauthenticated."""
        authorization = header(scope["headers"], b"authorization")
        given = None if authorization is None else authorization.decode("latin-1")
        peer = (scope.get("client") or (None,))[0]
        # Asked every time (one stat): a token that was renewed because it leaked must not live on until someone uses
        # the new one.
        fresh = self._reload()
        if fresh is not None:
            self.clients = tuple(fresh)
        return identify(self.clients, given, peer)
