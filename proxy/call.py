"""Translation call: one client request inside the proxy."""

from __future__ import annotations

from dataclasses import dataclass

from proxy.keys.caller import Caller
from proxy.request_cost import RequestCost
from proxy.routing.language_groups import LanguageGroups
from proxy.routing.routes import Route
from shared.protocol.deadline import Deadline
from shared.protocol.priority import Priority
from shared.protocol.sse_format import DeltaSink
from shared.protocol.translate_request import TranslateRequest
from shared.runtime.metrics import RequestSample


@dataclass(eq=False, slots=True)  # a frozen one is three times slower to create
class TranslationCall:
    """One client request with its caller, priority and deadline.

    ``sample`` collects its measurements. ``sink`` gets the deltas of a stream, as soon as each is final. ``body`` has
    the client's bytes of an unchanged request. ``route`` is set once the route is found, ``groups`` if the languages
    were detected in advance. ``is_admitted``: admitted as a part of a larger request. ``linger_seconds``: how long
    the computation goes on for a repeat after its client timed out; 0: as coalescing decides. ``has_words``: whether
    any text may need a translation; None: not known yet.
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
    groups: LanguageGroups | None = None
    is_admitted: bool = False
    linger_seconds: float = 0.0
    has_words: bool | None = None

    def for_part(self, request: TranslateRequest, sink: DeltaSink | None) -> TranslationCall:
        """Return the call for a request with some of its texts."""
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
            is_admitted=self.is_admitted,
            linger_seconds=self.linger_seconds,
        )

    def for_target(self, request: TranslateRequest) -> TranslationCall:
        """Return the call for one target, with its own sample.

        It is admitted already: a list of targets is admitted as a whole.
        """
        part = self.for_part(request, None)
        part.is_admitted = True
        part.sample = RequestSample()
        part.has_words = self.has_words
        return part
