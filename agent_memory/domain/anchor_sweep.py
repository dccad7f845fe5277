"""The entity sweep's decisions: what Home Assistant's answer says, and what that does to each entity anchor.

How two misses fit "last definitive state": an anchor keeps its last definitive state (seed 001), and one states list
without the entity is not definitive, because Home Assistant answers 200 while integrations still load (ADDON.md
section 6). It becomes definitive when the next sweep that could look does not find the entity either. A client's
report through `memory_anchor_report` is definitive at once: the client looked at the thing itself. Two sweeps within
one start of Home Assistant are one look: a miss soon after a miss does not count.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from agent_memory.domain.anchors import AnchorState, Change, apply_report

K = TypeVar("K")
MISSES_BEFORE_MISSING = 2  # ADDON.md section 6
MISSES_APART = timedelta(minutes=15)  # Home Assistant loads its integrations for minutes after a start


@dataclass(frozen=True)
class Sweep(Generic[K]):
    """One sweep's outcome: the change per anchor, and the three numbers of `memory_anchor_sweep`."""

    changes: Mapping[K, Change]
    checked: int
    changed: int
    unavailable: int


def entities_in(status: int | None, body: object) -> frozenset[str] | None:
    """The entity ids of a states answer, or None when it says nothing about any entity.

    Only a 200 with a non-empty list of states is an answer. No connection or a timeout (status None), 401, 502 and
    every other status, a body that is no list, a list with an item that is no state, and an empty list (no running
    Home Assistant has none: it is still starting) all mean that nobody could look.

    Args: body: the parsed JSON, or anything when it could not be parsed.
    """
    if status != 200 or not isinstance(body, list) or not body:
        return None
    ids = [item.get("entity_id") if isinstance(item, dict) else None for item in body]
    found = frozenset(entity_id for entity_id in ids if isinstance(entity_id, str))
    return found if all(isinstance(entity_id, str) for entity_id in ids) else None


def sweep(
    anchors: Mapping[K, tuple[str, AnchorState]],
    present: frozenset[str] | None,
    now: datetime,
    *,
    just_missed: Collection[K] = (),
) -> Sweep[K]:
    """What a sweep does to the entity anchors.

    An entity that is listed is `ok`, whatever its state: `unavailable` there means a device is off, and the entity
    still exists.

    Args:
      anchors: the caller's key per anchor → its entity id and its state now.
      present: what `entities_in` returned.
      now: aware UTC.
      just_missed: anchors whose last miss is younger than `MISSES_APART`; another does not count.
    Returns: a change for every anchor whose stored fields differ afterwards, and no others.
    """
    changes: dict[K, Change] = {}
    for key, (entity_id, before) in anchors.items():
        if present is not None and entity_id not in present and key in just_missed:
            continue
        change = _judge(before, None if present is None else entity_id in present, now)
        if change.after != before:
            changes[key] = change
    return Sweep(
        changes,
        checked=0 if present is None else len(anchors),
        changed=sum(change.advances for change in changes.values()),
        unavailable=len(anchors) if present is None else 0,
    )


def _judge(before: AnchorState, found: bool | None, now: datetime) -> Change:
    if found is None:
        return apply_report(before, "unavailable", now)
    if found:
        return apply_report(before, "ok", now)
    misses = before.misses + 1
    if before.state == "missing" or misses >= MISSES_BEFORE_MISSING:
        return apply_report(before, "missing", now)
    # the checker could look, so it is no longer unavailable; what it saw is not definitive yet
    return Change(replace(before, unavailable_since=None, misses=misses))
