"""RetryAfterScheduler: when refused requests are to come again."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from hashlib import blake2b
from typing import Final

from proxy.call import TranslationCall

# Nobody is sent away for longer: by then the load has changed, and so may have the fleet.
LONGEST_SECONDS: Final = 60
# Once all slots up to that are assigned, they are assigned again from here on: of so many not all will come, and those who
# do come spread out, not all at the last moment.
REUSE_SECONDS: Final = LONGEST_SECONDS / 2
# The part of the rate that is assigned to slots: requests come at random, and rates are measured. With all of it one in
# two that came back while the burst went on was refused.
SCHEDULED_SHARE: Final = 0.8
# A client that comes so much later than its slot has lost it.
GRACE_SECONDS: Final = 10.0
# How long there must be capacity before the slots assigned before are no reason any more to send others far away. Between
# two reports, and when a batch ends, a fleet at full load may look empty for a moment.
EMPTY_SECONDS: Final = 2.0
# Clocks of clients, and the time that the answer travels.
EARLY_SECONDS: Final = 0.05
# Slots kept at once; the oldest are forgotten first, and are then as good as new requests.
MAX_SLOTS: Final = 20_000
# Callers that wait at once, each in a queue of its own; the one that was longest without a new slot is forgotten first.
MAX_CALLERS: Final = 10_000
_FINGERPRINT_BYTES: Final = 12
# What of each text is looked at: two requests of one caller that differ only further on may take each other's slot.
_FINGERPRINT_CHARS: Final = 256


class RetryAfterScheduler:
    """One virtual queue of time slots per caller.

    A refused request gets the slot at which it should retry, so that there is capacity when it does. Slots are as far
    apart as the work before them takes, where all callers that wait get on alike. Whoever comes back in time is
    admitted before new requests; a slot that is not redeemed delays nobody but later slots of the same caller.

    Mutable state: the last slot of each caller, which request has which, since when hardly anything is in flight, and
    when that was observed last.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        """Begin with nobody waiting; ``clock`` gives monotonic seconds."""
        self._clock = clock
        self._last_slots: OrderedDict[str, float] = OrderedDict()
        self._slots: OrderedDict[bytes, float] = OrderedDict()
        self._empty_since: float | None = None
        self._observed_at = clock()

    def __repr__(self) -> str:
        """Show how many have a slot."""
        return f"<RetryAfterScheduler {len(self._slots)}>"

    def schedule(self, call: TranslationCall, units: float, rate: float, excess: float) -> int:
        """Assign a slot to a request; return its Retry-After in seconds.

        Whole seconds, 1 to 60. ``rate`` are the units of cost that get done in a second, ``excess`` the seconds until
        there is any capacity. A request that has a slot keeps it.
        """
        now = self._clock()
        fingerprint = _fingerprint(call)
        slot = self._slots.get(fingerprint, 0.0)
        if slot > now:
            return min(LONGEST_SECONDS, math.ceil(slot - now))
        caller = call.caller.identity
        last_slot = self._last_slots.pop(caller, 0.0)
        while self._last_slots and next(iter(self._last_slots.values())) <= now:
            self._last_slots.popitem(last=False)
        # Who waits gets its part of the rate; in whole seconds, a slot is a little later than it is.
        distance = units * (len(self._last_slots) + 1) / (SCHEDULED_SHARE * rate)
        slot = max(last_slot, now + excess) + distance
        if slot > now + LONGEST_SECONDS:
            slot = now + min(REUSE_SECONDS + distance, LONGEST_SECONDS)
        self._last_slots[caller] = slot
        _evict(self._last_slots, MAX_CALLERS)
        seconds = max(1, math.ceil(slot - now))
        self._slots.pop(fingerprint, None)
        self._slots[fingerprint] = now + seconds
        _evict(self._slots, MAX_SLOTS)
        return seconds

    def observe(self, *, is_empty: bool) -> None:
        """Note whether hardly anything is in flight.

        Or nobody asked; once that lasts, the next slots are near ones.
        """
        now = self._clock()
        if not is_empty:
            self._empty_since = None
        elif self._empty_since is None:
            self._empty_since = self._observed_at
        self._observed_at = now
        if self._empty_since is not None and now - self._empty_since >= EMPTY_SECONDS:
            self._last_slots.clear()

    def redeem(self, call: TranslationCall) -> bool:
        """Say whether the request comes at its slot, which is used up."""
        if not self._slots:
            return False
        now = self._clock()
        fingerprint = _fingerprint(call)
        slot = self._slots.get(fingerprint)
        if slot is None or now < slot - EARLY_SECONDS:
            return False
        del self._slots[fingerprint]
        return now <= slot + GRACE_SECONDS


def _evict(slots: OrderedDict[str, float] | OrderedDict[bytes, float], limit: int) -> None:
    while len(slots) > limit:
        slots.popitem(last=False)


def _fingerprint(call: TranslationCall) -> bytes:
    request = call.request
    parts = [call.caller.identity, request.source_lang, request.target_lang, call.priority]
    parts += [f"{len(text)} {text[:_FINGERPRINT_CHARS]}" for text in request.texts]
    return blake2b("\0".join(parts).encode(errors="surrogatepass"), digest_size=_FINGERPRINT_BYTES).digest()
