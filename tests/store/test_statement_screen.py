"""The guard in the worker: what a call site forgot to screen is refused all the same."""

import apsw
import pytest

from agent_memory.domain.errors import SecretRefused
from agent_memory.store.worker import Store
from support.secrets import GITHUB_TOKEN


@pytest.mark.parametrize("comment", ["", "/* a note */ ", "-- a note\n"])
async def test_a_careless_write_is_refused_and_leaves_nothing(store: Store, comment: str) -> None:
    def careless(conn: apsw.Connection) -> None:
        conn.execute(
            f"{comment}INSERT INTO queries (at, client, namespace, query, hits, coverage) VALUES ('', '', '', ?, 0, 0)",
            (f"deploy with {GITHUB_TOKEN}",),
        )

    with pytest.raises(SecretRefused, match="queries"):
        await store.write(careless)
    assert await store.read(lambda conn: conn.execute("SELECT count(*) FROM queries").get) == 0
