"""The task that keeps one model server's availability known; runs beside the calls, never inside one."""

import trio
from trio import TaskStatus

from agent_memory.llm.servers import Server

PROBE_TIMEOUT_S = 5.0
PROBE_INTERVAL_S = 10.0  # from one start to the next; with the timeout, results are at most 15 s apart (seed)


async def run_probe(
    server: Server,
    *,
    interval_s: float = PROBE_INTERVAL_S,
    timeout_s: float = PROBE_TIMEOUT_S,
    task_status: TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Probe a server at once and then every `interval_s` seconds, until cancelled.

    Start-up does not wait for the first probe: a server not yet probed counts as live.
    """
    task_status.started()
    while True:
        due = trio.current_time() + interval_s
        await server.probe(timeout_s)
        await trio.sleep_until(due)
