"""TranslationCall: one client's request inside the proxy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from proxy.keys.caller import Caller
from proxy.request_cost import RequestCost
from shared.protocol.deadline import Deadline
from shared.protocol.messages import TranslateRequest
from shared.protocol.priority import Priority
from shared.protocol.sse import OnDelta
from shared.runtime.metrics import RequestSample


@dataclass(eq=False)  # not frozen: that makes it three times slower to make
class TranslationCall:
    """One client's request, its caller and deadline.

    ``sample`` is what is measured of it. ``on_delta`` gets every part of each text's translation, by its index, as soon
    as it is final; None where the client wants no stream. Never changed after it was created.
    """

    request: TranslateRequest
    caller: Caller
    priority: Priority
    deadline: Deadline
    request_id: str
    sample: RequestSample
    on_delta: OnDelta | None = None

    @cached_property
    def cost(self) -> RequestCost:
        """What it costs."""
        return RequestCost.of(self.request, self.priority)

    def for_part(self, request: TranslateRequest, on_delta: OnDelta | None) -> TranslationCall:
        """Return the same call for some of its texts, or one leg."""
        return TranslationCall(
            request, self.caller, self.priority, self.deadline, self.request_id, self.sample, on_delta
        )

    def with_sample(self, sample: RequestSample) -> TranslationCall:
        """Return the same call, measured in another sample."""
        return TranslationCall(
            self.request, self.caller, self.priority, self.deadline, self.request_id, sample, self.on_delta
        )
