"""Call: one client's request on its way through the proxy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from proxy.freight import Freight

if TYPE_CHECKING:
    from proxy.caller import Caller
    from shared.deadline import Deadline
    from shared.events import OnDelta
    from shared.metrics import Measured
    from shared.priority import Priority
    from shared.wire import TranslateRequest


@dataclass(eq=False)  # not frozen: that makes it three times slower to make
class Call:
    """What is asked, by whom, until when, and what is measured of it.

    ``on_delta`` is told every part of each text's translation, by its index, as soon as it is final; None where the
    client wants no stream. Never changed once it is made.
    """

    request: TranslateRequest
    caller: Caller
    priority: Priority
    deadline: Deadline
    request_id: str
    measured: Measured
    on_delta: OnDelta | None = None

    @cached_property
    def freight(self) -> Freight:
        """How heavy it is."""
        return Freight.of(self.request, self.priority)

    def asking(self, request: TranslateRequest, on_delta: OnDelta | None) -> Call:
        """Return the same call for a part of its texts, or a leg of their way."""
        return Call(request, self.caller, self.priority, self.deadline, self.request_id, self.measured, on_delta)

    def measured_by(self, measured: Measured) -> Call:
        """Return the same call, whose way is written down elsewhere."""
        return Call(self.request, self.caller, self.priority, self.deadline, self.request_id, measured, self.on_delta)
