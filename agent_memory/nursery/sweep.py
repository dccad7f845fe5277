"""The timed sweep of entity anchors."""

from typing import Final

import trio

from agent_memory.domain.errors import ServiceError
from agent_memory.logs import Log
from agent_memory.tools.anchors import SWEEPER, sweep_entities
from agent_memory.tools.services import Services

log = Log("sweep")

FIRST_S: Final = 300.0  # after a reboot Home Assistant loads its integrations for minutes (ADDON.md section 6)


async def run_anchor_sweep(
    services: Services, *, every_hours: float, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> None:
    """Sweep a while after the start, then every so many hours."""
    task_status.started()
    await trio.sleep(FIRST_S)
    while True:
        try:
            swept = await sweep_entities(services, client=SWEEPER)
            log.info("anchor-sweep", checked=swept.checked, changed=swept.changed, unavailable=swept.unavailable)
        except ServiceError as error:
            log.warning("anchor-sweep-put-off", reason=type(error).__name__)
        await trio.sleep(every_hours * 3600)
