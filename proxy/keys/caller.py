"""Caller: a request's sender, with permissions. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import blake2b
from typing import Final

from shared.ip_addresses import network_of
from shared.languages import LanguagePair, stand_ins
from shared.protocol.errors import PairRefusedError
from shared.protocol.priority import Priority

# 64 bits: callers never share a tag by accident.
_TAG_BYTES: Final = 8
# More addresses than are active at a time.
CACHED_CALLERS: Final = 4096


@dataclass(frozen=True)
class Caller:
    """A key's id, or an address without keys, and its permissions.

    ``ceiling``: the most urgent priority. ``pairs``: None permits all. ``cached`` permits the cache and others'
    results.
    """

    identity: str
    ceiling: Priority = Priority.INTERACTIVE
    pairs: frozenset[LanguagePair] | None = None
    cached: bool = True

    @cached_property
    def tag(self) -> str:
        """The caller's digest for API servers, equal in every proxy.

        No secret: addresses can be tried one after the other.
        """
        return blake2b(self.identity.encode(), digest_size=_TAG_BYTES).hexdigest()

    def check(self, pair: LanguagePair) -> None:
        """Raise PairRefusedError unless permitted; ``en-de`` includes en-GB and de-AT."""
        if self.pairs is not None and not stand_ins(pair, self.pairs):
            raise PairRefusedError(str(pair), sorted(map(str, self.pairs)))


@lru_cache(maxsize=CACHED_CALLERS)
def at_address(address: str) -> Caller:
    """Return an address's caller, for a proxy without keys."""
    return Caller(f"address {network_of(address)}")
