"""Work item: one request and its progress."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from apiserver.scheduling.queue_deadline import QueueDeadline
from shared.languages import LanguagePair
from shared.protocol.answers import Notice
from shared.protocol.deadline import Deadline
from shared.protocol.priority import Lane, Priority
from shared.protocol.sse_format import DeltaSink
from shared.protocol.translate_request import TranslateRequest


@dataclass(slots=True, eq=False)  # not frozen: one for each request
class WorkItem:
    """One request, its cost and progress.

    ``caller`` is a tag for turns. ``sink`` gets final parts. A ``canary`` waits for no slot. ``counted`` has token ids from planning, ``context`` what prompts
    carry of the client's, in ``context_tokens``, and ``notices`` warnings for every text.
    ``queue`` bounds the wait for the first slot.
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
    queue: QueueDeadline = field(init=False)
    counted: Mapping[str, Sequence[int]] = field(default_factory=dict[str, Sequence[int]])
    context: str = ""
    context_tokens: int = 0
    notices: tuple[Notice, ...] = ()
    units_left: float = 0.0
    units_per_segment: float = 0.0
    admitted_at: float = 0.0

    def __post_init__(self) -> None:
        self.texts = self.request.texts
        size = self.request.size
        self.chars, self.cost = size.chars, size.units
        self.queue = QueueDeadline(self.deadline)
        self.lane = Lane.of(self.priority, is_long=size.is_long)
