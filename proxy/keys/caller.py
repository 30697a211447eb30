"""Caller: who asks, as far as the proxy knows, and what they may. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import blake2b
from typing import Final

from shared.languages import LanguagePair, stand_ins
from shared.protocol.errors import PairRefusedError
from shared.protocol.priority import Priority
from shared.runtime.ip_addresses import network_of

# 64 bits: callers of one fleet never meet in it by accident.
_TAG_BYTES: Final = 8
# Addresses that ask again and again are worked out once; more than are busy at a time.
CACHED_CALLERS: Final = 4096


@dataclass(frozen=True)
class Caller:
    """Who asks: a key's id, or an address where keys are off.

    ``ceiling`` is the most urgent class they may have, ``pairs`` are those they may use (None: all), ``cached`` says
    whether their texts may be kept in the cache and answered from it or from another caller's request.
    """

    identity: str
    ceiling: Priority = Priority.INTERACTIVE
    pairs: frozenset[LanguagePair] | None = None
    cached: bool = True

    @cached_property
    def tag(self) -> str:
        """What API servers tell callers apart by, the same in every proxy; no secret: addresses can be tried."""
        return blake2b(self.identity.encode(), digest_size=_TAG_BYTES).hexdigest()

    def check(self, pair: LanguagePair) -> None:
        """Raise PairRefusedError where their key is not for a pair; one for ``en-de`` is for en-GB and de-AT too."""
        if self.pairs is not None and not stand_ins(pair, self.pairs):
            raise PairRefusedError(str(pair), sorted(map(str, self.pairs)))


@lru_cache(maxsize=CACHED_CALLERS)
def at_address(address: str) -> Caller:
    """Return who asks from an address, where keys are off."""
    return Caller(f"address {network_of(address)}")
