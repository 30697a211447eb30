"""Work item: one request, from its admission to its last segment."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from shared.languages import LanguagePair
from shared.protocol.deadline import Deadline
from shared.protocol.messages import TranslateRequest
from shared.protocol.priority import Lane, Priority, cost_of, is_long
from shared.protocol.sse import DeltaSink


@dataclass(slots=True, eq=False)  # not frozen: one for each request
class WorkItem:
    """One request: its caller, deadline, cost and progress.

    ``caller`` is a tag for turns. ``sink`` gets a text's index and each final part. A ``canary`` goes before all others
    and waits for no slot. Mutable state: token ids from planning (``counted``); cost units; the request's timer; the
    longest wait for the first slot, whether it waits now, and when it got one.
    """

    request: TranslateRequest
    pair: LanguagePair
    deadline: Deadline
    request_id: str
    priority: Priority = Priority.INTERACTIVE
    caller: str = ""
    sink: DeltaSink | None = None
    canary: bool = False
    texts: Sequence[str] = field(init=False)
    chars: int = field(init=False)
    cost: float = field(init=False)
    lane: Lane = field(init=False)
    counted: Mapping[str, Sequence[int]] = field(default_factory=dict[str, Sequence[int]])
    units_left: float = 0.0
    units_per_segment: float = 0.0
    admitted_at: float = 0.0
    timer: asyncio.Timeout | None = None
    queue_seconds: float = inf
    is_queueing: bool = False
    begun_at: float | None = None

    def __post_init__(self) -> None:
        self.texts = self.request.texts
        sizes = list(map(len, self.texts))
        self.chars = sum(sizes)
        self.cost = cost_of(self.chars, len(sizes))
        self.lane = Lane.of(self.priority, is_long=is_long(max(sizes)))

    def wait(self) -> None:
        """Record that a segment waits; the first wait has a limit."""
        if self.begun_at is not None or self.is_queueing or self.timer is None or self.queue_seconds == inf:
            return
        deadline, limit = self.timer.when(), asyncio.get_running_loop().time() + self.queue_seconds
        if deadline is not None and limit < deadline and not self.timer.expired():
            self.is_queueing = True
            self.timer.reschedule(limit)

    def begin(self) -> None:
        """Record that a segment has a slot; only the deadline counts now."""
        if self.begun_at is not None:
            return
        self.begun_at = self.deadline.clock()
        if self.is_queueing and self.timer is not None and not self.timer.expired():
            self.is_queueing = False
            self.timer.reschedule(asyncio.get_running_loop().time() + self.deadline.remaining())
