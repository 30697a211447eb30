"""Work item: one request and its progress."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from shared.languages import LanguagePair
from shared.protocol.answers import Notice
from shared.protocol.deadline import Deadline
from shared.protocol.priority import Lane, Priority
from shared.protocol.sse_format import DeltaSink
from shared.protocol.translate_request import TranslateRequest


@dataclass(slots=True, eq=False)  # not frozen: one for each request
class WorkItem:
    """One request, its cost and progress.

    ``caller`` is a tag for turns. ``sink`` gets final parts. A ``canary`` waits for no slot. ``is_shadow`` keeps it out
    of metrics; ``no_store`` out of shadow traffic. ``counted`` has token ids from planning, ``context`` what prompts
    carry of the client's, in ``context_tokens``, and ``notices`` warnings for every text. ``queue_seconds`` bounds the
    wait for the first slot.
    """

    request: TranslateRequest
    pair: LanguagePair
    deadline: Deadline
    request_id: str
    priority: Priority = Priority.INTERACTIVE
    caller: str = ""
    sink: DeltaSink | None = None
    canary: bool = False
    is_shadow: bool = False
    no_store: bool = False
    texts: Sequence[str] = field(init=False)
    chars: int = field(init=False)
    cost: float = field(init=False)
    lane: Lane = field(init=False)
    counted: Mapping[str, Sequence[int]] = field(default_factory=dict[str, Sequence[int]])
    context: str = ""
    context_tokens: int = 0
    notices: tuple[Notice, ...] = ()
    units_left: float = 0.0
    units_per_segment: float = 0.0
    admitted_at: float = 0.0
    timer: asyncio.Timeout | None = None
    queue_seconds: float = inf
    is_queueing: bool = False
    begun_at: float | None = None

    def __post_init__(self) -> None:
        self.texts = self.request.texts
        size = self.request.size
        self.chars, self.cost = size.chars, size.units
        self.lane = Lane.of(self.priority, is_long=size.is_long)

    def wait(self) -> None:
        """Record a wait; the first has a limit."""
        if self.begun_at is not None or self.is_queueing or self.timer is None or self.queue_seconds == inf:
            return
        deadline, limit = self.timer.when(), asyncio.get_running_loop().time() + self.queue_seconds
        if deadline is not None and limit < deadline and not self.timer.expired():
            self.is_queueing = True
            self.timer.reschedule(limit)

    def begin(self) -> None:
        """Record a slot; only the deadline counts now."""
        if self.begun_at is not None:
            return
        self.begun_at = self.deadline.clock()
        if self.is_queueing and self.timer is not None and not self.timer.expired():
            self.is_queueing = False
            self.timer.reschedule(asyncio.get_running_loop().time() + self.deadline.remaining())
