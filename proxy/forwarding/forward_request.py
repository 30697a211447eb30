"""Forward request: texts of one pair for one replica, and its attempts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from pydantic_core import to_json

from proxy.call import TranslationCall
from proxy.request_cost import RequestCost
from proxy.upstream.errors import BrokenAnswerError
from shared.languages import LanguagePair
from shared.protocol.deadline import Deadline
from shared.protocol.errors import PairwayError
from shared.protocol.messages import TranslateRequest
from shared.protocol.sse import OnDelta


class AttemptFailedError(Exception):
    """Failure of one replica; another may serve the request.

    ``error`` is for the client if none can.
    """

    def __init__(self, error: PairwayError) -> None:
        super().__init__(error.detail)
        self.error = error


class DeltaRelay:
    """Callback that passes a replica's deltas on to the client.

    Once one was passed on (``is_started``), no other replica can take over.
    """

    def __init__(self, on_delta: OnDelta, indices: Sequence[int]) -> None:
        """Take the client's callback, and each text's index in its request."""
        self._on_delta = on_delta
        self._indices = indices
        self.is_started = False

    def __call__(self, index: int, text: str) -> None:
        """Pass one on.

        Raises:
            BrokenAnswerError: the replica was sent no such text.
        """
        if not 0 <= index < len(self._indices):
            raise BrokenAnswerError(f"a delta of text {index} of {len(self._indices)}")
        if text:
            self.is_started = True
            self._on_delta(self._indices[index], text)


# Fields that the proxy sets itself, or obeys itself.
_PROXY_FIELDS: Final = {"source_lang", "target_lang", "pivot"}


@dataclass(slots=True, eq=False)  # not frozen: that makes it three times slower to make
class ForwardRequest:
    """Texts for one replica; ``pair`` is the pair that the client named.

    ``delta_relay`` is set where the client wants a stream.
    """

    pair: LanguagePair
    call: TranslationCall
    delta_relay: DeltaRelay | None

    @property
    def request(self) -> TranslateRequest:
        """The texts, and what to do with them."""
        return self.call.request

    @property
    def cost(self) -> RequestCost:
        """How heavy it is."""
        return self.call.cost

    @property
    def is_started(self) -> bool:
        """Whether a delta was passed on to the client."""
        return self.delta_relay is not None and self.delta_relay.is_started

    def body_for(self, pair: LanguagePair) -> bytes:
        """Return the JSON for a replica, with the pair of the route.

        Options that only a proxy can obey are left out.
        """
        fields = self.request.model_dump(mode="json", exclude_defaults=True, exclude=_PROXY_FIELDS)
        fields["source_lang"], fields["target_lang"] = pair
        return to_json(fields)


@dataclass(slots=True)
class AttemptHistory:
    """Attempts of one request so far.

    ``errors`` are by URL; ``unreachable_count`` replicas could not even be reached; ``prepaid_attempts`` are those that
    the retry budget has paid for and that were not made yet.
    """

    forward_request: ForwardRequest
    tried_urls: set[str] = field(default_factory=set[str])
    errors: dict[str, PairwayError] = field(default_factory=dict[str, "PairwayError"])
    unreachable_count: int = 0
    prepaid_attempts: int = 0

    @property
    def deadline(self) -> Deadline:
        """When the client's time is over."""
        return self.forward_request.call.deadline

    @property
    def attempts(self) -> int:
        """Number of replicas that were sent the request."""
        return len(self.tried_urls) - self.unreachable_count
