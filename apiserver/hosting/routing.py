"""Routing: which hosts serve which pairs, at one moment."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Final

from apiserver.hosting.model_host import ModelHost
from shared.languages import LanguagePair, stand_ins

# Requested pairs whose serving pairs are cached: many more than clients request.
CACHED_PAIRS: Final = 1024


@dataclass(frozen=True, slots=True)
class Routing:
    """The hosts of one server; immutable, replaced as a whole.

    ``hosts`` serve, in order of preference. ``draining`` ones finish their requests.
    """

    hosts: tuple[ModelHost, ...]
    by_pair: Mapping[LanguagePair, tuple[ModelHost, ...]]
    serving: Callable[[LanguagePair], Sequence[LanguagePair]]
    draining: tuple[ModelHost, ...] = ()

    @classmethod
    def of(cls, hosts: Sequence[ModelHost], draining: tuple[ModelHost, ...] = ()) -> Routing:
        """Index the hosts by pair."""
        lists: dict[LanguagePair, list[ModelHost]] = defaultdict(list)
        for host in hosts:
            for pair in host.entry.all_pairs:
                lists[pair].append(host)
        by_pair = {pair: tuple(of_pair) for pair, of_pair in lists.items()}
        serving = lru_cache(maxsize=CACHED_PAIRS)(partial(stand_ins, served=by_pair))
        return cls(tuple(hosts), by_pair, serving, draining)

    def switched(self, hosts: Sequence[ModelHost], leaving: Sequence[ModelHost] = ()) -> Routing:
        """Return the routing to ``hosts``, while those that leave drain."""
        return Routing.of(hosts, (*self.draining, *leaving))

    def without(self, left: ModelHost) -> Routing:
        """Return the routing without a host that has drained."""
        return Routing.of(self.hosts, tuple(host for host in self.draining if host is not left))
