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

    ``hosts`` serve, in order of preference. ``draining`` ones finish their requests. ``candidate`` is proven, but held.
    """

    hosts: tuple[ModelHost, ...]
    by_pair: Mapping[LanguagePair, tuple[ModelHost, ...]]
    serving: Callable[[LanguagePair], Sequence[LanguagePair]]
    draining: tuple[ModelHost, ...] = ()
    candidate: ModelHost | None = None

    @classmethod
    def of(
        cls, hosts: Sequence[ModelHost], draining: tuple[ModelHost, ...] = (), candidate: ModelHost | None = None
    ) -> Routing:
        """Index the hosts by pair."""
        lists: dict[LanguagePair, list[ModelHost]] = defaultdict(list)
        for host in hosts:
            for pair in host.entry.all_pairs:
                lists[pair].append(host)
        by_pair = {pair: tuple(of_pair) for pair, of_pair in lists.items()}
        serving = lru_cache(maxsize=CACHED_PAIRS)(partial(stand_ins, served=by_pair))
        return cls(tuple(hosts), by_pair, serving, draining, candidate)

    def replaced(self, old: ModelHost, new: ModelHost) -> Routing:
        """Return the routing with ``new`` in the place of ``old``, which drains."""
        hosts = tuple(new if host is old else host for host in self.hosts)
        candidate = None if self.candidate is new else self.candidate
        return Routing.of(hosts, (*self.draining, old), candidate)

    def without(self, left: ModelHost) -> Routing:
        """Return the routing without a draining host or candidate."""
        draining = tuple(host for host in self.draining if host is not left)
        candidate = None if self.candidate is left else self.candidate
        return Routing.of(self.hosts, draining, candidate)

    def with_candidate(self, candidate: ModelHost) -> Routing:
        """Return the routing with a held candidate."""
        return Routing.of(self.hosts, self.draining, candidate)
