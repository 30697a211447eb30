"""Promises: when those who were refused are to come again, so that there is room when they do. Pure."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from hashlib import blake2b
from typing import Final

from proxy.call import TranslationCall

# Nobody is sent away for longer: by then the load has changed, and so may have the fleet.
LONGEST_SECONDS: Final = 60
# Once all places up to that are given, they are given again from here on: of so many not all will come, and those who do
# come spread out, not all at the last moment.
AGAIN_SECONDS: Final = LONGEST_SECONDS / 2
# The part of what gets done that is promised: requests come at random, and rates are measured. With all of it promised one
# in two that came back while the burst went on found no room.
SCHEDULED_SHARE: Final = 0.8
# A client that comes so much later than it was told has lost its place.
GRACE_SECONDS: Final = 10.0
# How long there must be room before the places given before are no reason any more to send others far away. Between two
# reports, and when a batch ends, a fleet in full work may look empty for a moment.
EMPTY_SECONDS: Final = 2.0
# Clocks of clients, and the way of the answer.
EARLY_SECONDS: Final = 0.05
# Places kept at once; the oldest are forgotten first, and are then as good as new requests.
MAX_SLOTS: Final = 20_000
# Callers that wait at once, each in a queue of its own; the one that was longest without a new place is forgotten first.
MAX_CALLERS: Final = 10_000
_FINGERPRINT_BYTES: Final = 12
# What of each text is looked at: two requests of one caller that differ only further on may take each other's place.
_FINGERPRINT_CHARS: Final = 256


class RetryAfterScheduler:
    """Queues in which nobody stands, one for each caller: who is refused is given a place in its own.

    Places are as far apart as the work before them takes, where all callers that wait get on alike. Mutable state: the
    last place of each caller, which request has which, since when hardly anything is in hand, and the last look. Whoever comes back in time is let in before new requests; a
    place that is not taken delays nobody but later places of the same caller.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        """Begin with nobody waiting; ``clock`` gives monotonic seconds."""
        self._clock = clock
        self._last: OrderedDict[str, float] = OrderedDict()
        self._due: OrderedDict[bytes, float] = OrderedDict()
        self._empty_since: float | None = None
        self._observed_at = clock()

    def __repr__(self) -> str:
        """Show how many have a place."""
        return f"<Promises {len(self._due)}>"

    def schedule(self, call: TranslationCall, cost: float, rate: float, excess: float) -> int:
        """Give a request of that cost a place; return in how many whole seconds (1 to 60) it is to come again.

        ``rate`` are the units of cost that get done in a second, ``excess`` the seconds until there is room at all. A
        request that has a place keeps it.
        """
        now = self._clock()
        fingerprint = _fingerprint(call)
        due = self._due.get(fingerprint, 0.0)
        if due > now:
            return min(LONGEST_SECONDS, math.ceil(due - now))
        caller = call.caller.identity
        last = self._last.pop(caller, 0.0)
        while self._last and next(iter(self._last.values())) <= now:
            self._last.popitem(last=False)
        # Who waits gets its part of what is done; told in whole seconds, a place is a little later than it is.
        distance = cost * (len(self._last) + 1) / (SCHEDULED_SHARE * rate)
        place = max(last, now + excess) + distance
        if place > now + LONGEST_SECONDS:
            place = now + min(AGAIN_SECONDS + distance, LONGEST_SECONDS)
        self._last[caller] = place
        _shrink(self._last, MAX_CALLERS)
        seconds = max(1, math.ceil(place - now))
        self._due.pop(fingerprint, None)
        self._due[fingerprint] = now + seconds
        _shrink(self._due, MAX_SLOTS)
        return seconds

    def observe(self, *, empty: bool) -> None:
        """Note whether hardly anything is in hand, or nobody asked; once that lasts, the next places are near ones again."""
        now = self._clock()
        if not empty:
            self._empty_since = None
        elif self._empty_since is None:
            self._empty_since = self._observed_at
        self._observed_at = now
        if self._empty_since is not None and now - self._empty_since >= EMPTY_SECONDS:
            self._last.clear()

    def redeem(self, call: TranslationCall) -> bool:
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


def _shrink(places: OrderedDict[str, float] | OrderedDict[bytes, float], most: int) -> None:
    while len(places) > most:
        places.popitem(last=False)


def _fingerprint(call: TranslationCall) -> bytes:
    request = call.request
    parts = [call.caller.identity, request.source_lang, request.target_lang, call.priority]
    parts += [f"{len(text)} {text[:_FINGERPRINT_CHARS]}" for text in request.texts]
    return blake2b("\0".join(parts).encode(errors="surrogatepass"), digest_size=_FINGERPRINT_BYTES).digest()
