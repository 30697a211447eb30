"""Promises: when those who were refused are to come again, so that there is room when they do. Pure."""

from __future__ import annotations

import math
from collections import OrderedDict
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxy.call import Call

# Nobody is sent away for longer: by then the load has changed, and so may have the fleet.
LONGEST_SECONDS: Final = 60
# A client that comes so much later than it was told has lost its place.
GRACE_SECONDS: Final = 10.0
# Clocks of clients, and the way of the answer.
EARLY_SECONDS: Final = 0.05
# Places kept at once; the oldest are forgotten first, and are then as good as new requests.
MAX_PROMISES: Final = 20_000
_FINGERPRINT_BYTES: Final = 12
# What of each text is looked at: two requests of one caller that differ only further on may take each other's place.
_FINGERPRINT_CHARS: Final = 256


class Promises:
    """A queue in which nobody stands: each who is refused is given a place, at the pace at which work gets done.

    Mutable state: the time at which the last place given is due, and who has one. Whoever comes back in time is let in
    before new requests; a place that is not taken costs nothing.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        """Begin with nobody waiting; ``clock`` gives monotonic seconds."""
        self._clock = clock
        self._last = 0.0
        self._due: OrderedDict[bytes, float] = OrderedDict()

    def __repr__(self) -> str:
        """Show how many have a place."""
        return f"<Promises {len(self._due)}>"

    def give(self, call: Call, cost: float, rate: float) -> int:
        """Give a request of that cost a place; return in how many whole seconds (1 to 60) it is to come again.

        ``rate`` are the units of cost that get done in a second.
        """
        now = self._clock()
        # The place after the last one; told in whole seconds, it is a little later.
        self._last = min(max(self._last, now) + cost / rate, now + LONGEST_SECONDS)
        seconds = min(LONGEST_SECONDS, max(1, math.ceil(self._last - now)))
        fingerprint = _fingerprint(call)
        self._due.pop(fingerprint, None)
        self._due[fingerprint] = now + seconds
        while len(self._due) > MAX_PROMISES:
            self._due.popitem(last=False)
        return seconds

    def settle(self) -> None:
        """Note that there is room now: the next place is a near one, whether or not those before it are taken."""
        self._last = 0.0

    def redeem(self, call: Call) -> bool:
        """Say whether the request comes at the time it was told to; its place is used up."""
        if not self._due:
            return False
        now = self._clock()
        fingerprint = _fingerprint(call)
        due = self._due.get(fingerprint)
        if due is None or now < due - EARLY_SECONDS:
            return False
        del self._due[fingerprint]
        return now <= due + GRACE_SECONDS


def _fingerprint(call: Call) -> bytes:
    request = call.request
    parts = [call.caller.identity, request.source_lang, request.target_lang, call.priority]
    parts += [f"{len(text)} {text[:_FINGERPRINT_CHARS]}" for text in request.texts]
    return blake2b("\0".join(parts).encode(errors="surrogatepass"), digest_size=_FINGERPRINT_BYTES).digest()
