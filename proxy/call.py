"""TranslationCall: one client's request inside the proxy."""

from __future__ import annotations

from dataclasses import dataclass

from proxy.keys.caller import Caller
from proxy.request_cost import RequestCost
from proxy.routing.routes import Route
from shared.protocol.deadline import Deadline
from shared.protocol.messages import TranslateRequest
from shared.protocol.priority import Priority
from shared.protocol.sse import DeltaSink
from shared.runtime.metrics import RequestSample


@dataclass(eq=False, slots=True)  # not frozen: that makes it three times slower to make
class TranslationCall:
    """One client's request, its caller and deadline.

    ``sample`` is what is measured of it. ``sink`` takes every part of each text's translation as soon as it is final;
    None where the client wants no stream. ``body`` is the request as the client wrote it, where it has not been changed.
    ``route`` is its route, once found.
    """

    request: TranslateRequest
    cost: RequestCost
    caller: Caller
    priority: Priority
    deadline: Deadline
    request_id: str
    sample: RequestSample
    sink: DeltaSink | None = None
    body: bytes | None = None
    route: Route | None = None

    def for_part(self, request: TranslateRequest, sink: DeltaSink | None) -> TranslationCall:
        """Return the same call for some of its texts."""
        cost = RequestCost.of(request, self.priority)
        return TranslationCall(
            request,
            cost,
            self.caller,
            self.priority,
            self.deadline,
            self.request_id,
            self.sample,
            sink,
            route=self.route,
        )
