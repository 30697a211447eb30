"""ProxySummary: what one proxy shows to all, the record in Redis."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from proxy.status.figures import SLOTS, SlotFigures
from proxy.status.fleet_event import MAX_EVENTS, FleetEvent

# 90 slots of at most 400 bytes, and 50 events of at most 700 in the worst case; usually 10 kB.
MAX_SUMMARY_BYTES: Final = 96 * 1024
MAX_NAME_CHARS: Final = 300


class ProxySummary(BaseModel):
    """One proxy: since when it runs, its figures and its events.

    Times are Unix seconds; ``at`` is the time of the summary.
    """

    model_config = ConfigDict(frozen=True)

    name: Annotated[str, Field(max_length=MAX_NAME_CHARS)]
    version: Annotated[str, Field(max_length=64)]
    at: FiniteFloat
    started_at: FiniteFloat
    leader: bool
    draining: bool
    slots: Annotated[list[SlotFigures], Field(max_length=SLOTS)]
    events: Annotated[list[FleetEvent], Field(max_length=MAX_EVENTS)]


def encode(summary: ProxySummary) -> str:
    """Return the record, at most ``MAX_SUMMARY_BYTES``.

    If it is larger, the oldest events are left out, then the oldest slots.
    """
    while True:
        record = summary.model_dump_json(exclude_defaults=True)
        if len(record.encode()) <= MAX_SUMMARY_BYTES or not (summary.events or summary.slots):
            return record
        events = summary.events[len(summary.events) // 2 + 1 :]
        slots = summary.slots if summary.events else summary.slots[len(summary.slots) // 2 + 1 :]
        summary = summary.model_copy(update={"events": events, "slots": slots})
