"""Translation call: one client request in the proxy, its cost and legs.

None of them changes. What happens to a request stands elsewhere: in its ``RequestSample``, its ``DeltaSink``, and the
progress of its legs (``proxy/forwarding/retry_policy.py``).
"""

from __future__ import annotations

from typing import Final, NamedTuple, Self

from pydantic_core import to_json

from proxy.keys.caller import Caller
from shared.languages import LanguagePair
from shared.protocol.deadline import Deadline
from shared.protocol.priority import Lane, Priority
from shared.protocol.sse_format import DeltaSink
from shared.protocol.translate_request import TranslateRequest
from shared.runtime.metrics import RequestSample

# With 500, the latency per unit is even (78 to 100 ms at 100 to 2,000 characters), and the simulated p95 is lowest
# (docs/decisions/0013-balancing.md).
CHARS_PER_WORK_UNIT: Final = 500
# Fields that the proxy sets or handles itself.
_PROXY_FIELDS: Final = {"source_lang", "target_lang", "pivot"}
# Fields of a request without options: the texts and both languages.
_NAMED_FIELDS: Final = 3
# The white space and escapes of a longer body may exceed the replica's limit.
PASSED_ON_BYTES: Final = 64 * 1024


def work_of(chars: int, texts: int = 1) -> float:
    """Return the units of work; an empty text is one unit."""
    return texts + chars / CHARS_PER_WORK_UNIT


class RequestCost(NamedTuple):
    """Cost of one request: ``work`` for latency, cost ``units`` for engine load.

    ``is_long``: one of its texts is long; only the API server knows the capacity for long texts. ``charged_chars``
    count for the key's quotas.
    """

    work: float
    texts: int = 1
    units: float = 1.0
    priority: Priority = Priority.INTERACTIVE
    is_long: bool = False
    chars: int = 0
    charged_chars: int = 0

    @classmethod
    def of(cls, request: TranslateRequest, priority: Priority) -> Self:
        """Compute the cost of a request."""
        chars, texts, units, charged_chars, long = request.size
        # Alternatives are computed at the same time as the first translation.
        work = work_of(chars, texts)
        return cls(work, texts, units, priority, is_long=long, chars=chars, charged_chars=charged_chars)

    def for_targets(self, count: int) -> RequestCost:
        """Return the cost of the same texts into so many languages."""
        return RequestCost(
            self.work * count,
            self.texts * count,
            self.units * count,
            self.priority,
            is_long=self.is_long,
            chars=self.chars * count,
            charged_chars=self.charged_chars * count,
        )

    @property
    def lane(self) -> Lane:
        """The lane in which it waits in an API server."""
        return Lane.of(self.priority, is_long=self.is_long)


class TranslationCall(NamedTuple):
    """One client request with its caller, priority and deadline.

    ``sample`` collects its measurements. ``sink`` gets the deltas of a stream, as soon as each is final. ``body`` has
    the client's bytes of an unchanged request. ``linger_seconds``: how long the computation goes on for a repeat after
    its client timed out; 0: as coalescing decides.
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
    linger_seconds: float = 0.0

    @property
    def pair(self) -> LanguagePair:
        """The languages that the request names; the source may be ``auto``."""
        return LanguagePair(self.request.source_lang, self.request.target_lang)

    def for_part(self, request: TranslateRequest, sink: DeltaSink | None) -> TranslationCall:
        """Return the call for a request with some of its texts."""
        return self._replace(request=request, cost=RequestCost.of(request, self.priority), sink=sink, body=None)

    def for_target(self, request: TranslateRequest) -> TranslationCall:
        """Return the call for one target, with its own sample."""
        return self.for_part(request, None)._replace(sample=RequestSample())


class Leg(NamedTuple):
    """A call's request for one pair of its route.

    ``sink`` is set for a stream. ``pair`` serves it. ``wanted`` has the languages asked for: another pair may serve these once ``pair`` no longer does.
    """

    call: TranslationCall
    pair: LanguagePair
    wanted: LanguagePair
    request: TranslateRequest
    cost: RequestCost
    sink: DeltaSink | None = None

    def body_for(self, pair: LanguagePair) -> bytes:
        """Return the JSON for a replica that serves the pair.

        The client's own bytes if they name only the texts and this pair; else without defaults and proxy options.
        """
        request, body = self.request, self.call.body
        if (
            body is not None
            and request is self.call.request
            and (request.source_lang, request.target_lang) == pair
            and len(request.model_fields_set) == _NAMED_FIELDS
            and len(body) <= PASSED_ON_BYTES
        ):
            return body
        fields = request.model_dump(mode="json", exclude_defaults=True, exclude=_PROXY_FIELDS)
        fields["source_lang"], fields["target_lang"] = pair
        return to_json(fields)
