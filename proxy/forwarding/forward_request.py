"""Errand: what is sent to one replica, where its parts go, and what became of it so far."""

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
    """One replica could not serve the errand; another may. ``error`` is what to say if none can."""

    def __init__(self, error: PairwayError) -> None:
        """Take the error for the client."""
        super().__init__(error.detail)
        self.error = error


class DeltaRelay:
    """Passes a replica's deltas on to the client; once one was, no other replica can take over: ``begun``."""

    def __init__(self, on_delta: OnDelta, indices: Sequence[int]) -> None:
        """Take whom to tell, and the index in the client's request of each of the replica's texts."""
        self._on_delta = on_delta
        self._indices = indices
        self.begun = False

    def __call__(self, index: int, text: str) -> None:
        """Pass one on.

        Raises:
            BrokenAnswerError: the replica was sent no such text.
        """
        if not 0 <= index < len(self._indices):
            raise BrokenAnswerError(f"a delta of text {index} of {len(self._indices)}")
        if text:
            self.begun = True
            self._on_delta(self._indices[index], text)


# What the proxy says itself, or obeys itself.
_OURS: Final = {"source_lang", "target_lang", "pivot"}


@dataclass(slots=True, eq=False)  # not frozen: that makes it three times slower to make
class ForwardRequest:
    """What is sent to one replica: texts of one pair, as the client wants them; ``relay`` where it wants a stream."""

    wanted: LanguagePair
    call: TranslationCall
    relay: DeltaRelay | None

    @property
    def request(self) -> TranslateRequest:
        """The texts, and what to do with them."""
        return self.call.request

    @property
    def freight(self) -> RequestCost:
        """How heavy it is."""
        return self.call.freight

    @property
    def begun(self) -> bool:
        """Whether a part of a replica's answer is on its way to the client."""
        return self.relay is not None and self.relay.begun

    def body_for(self, pair: LanguagePair) -> bytes:
        """Return the request to a replica: the pair that the route chose, and nothing that only a proxy can obey."""
        members = self.request.model_dump(mode="json", exclude_defaults=True, exclude=_OURS)
        members["source_lang"], members["target_lang"] = pair
        return to_json(members)


@dataclass(slots=True)
class AttemptHistory:
    """One errand under way: who was tried, how they failed, how many of them could not even be reached.

    ``paid`` are attempts that the RetryBudget has paid for and that were not made yet.
    """

    errand: ForwardRequest
    tried: set[str] = field(default_factory=set[str])
    failed: dict[str, PairwayError] = field(default_factory=dict[str, "PairwayError"])
    unreached: int = 0
    paid: int = 0

    @property
    def deadline(self) -> Deadline:
        """When the client's time is over."""
        return self.errand.call.deadline

    @property
    def attempts(self) -> int:
        """Replicas that were sent the errand."""
        return len(self.tried) - self.unreached
