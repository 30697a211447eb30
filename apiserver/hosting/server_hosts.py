"""Server hosts: how they are created, which run, which serve."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Final, Self

from apiserver.catalog.model_entry import ModelEntry
from apiserver.hosting.model_host import EngineFactory, HostServices, HostSettings, ModelHost
from apiserver.metrics import ApiServerMetrics
from shared.languages import LanguagePair, stand_ins
from shared.runtime.background import Loop


@dataclass(frozen=True, slots=True)
class HostBuilder:
    """Parts of a server's hosts; ``factory_beside`` starts engines that share a device."""

    settings: HostSettings
    services: HostServices
    factory_beside: EngineFactory

    def host(self, entry: ModelEntry, ranks: Mapping[LanguagePair, int]) -> ModelHost:
        """Return a host that serves."""
        return ModelHost(entry, ranks, self.settings, self.services)

    def candidate(self, entry: ModelEntry, ranks: Mapping[LanguagePair, int], *, beside: bool) -> ModelHost:
        """Return a host that does not serve yet; ``beside`` others that run."""
        services = replace(self.services, factory=self.factory_beside) if beside else self.services
        return ModelHost(entry, ranks, self.settings, services, is_serving=False)


class RunningHosts:
    """Hosts of a server, with loops and tasks; the block runs them."""

    def __init__(self, hosts: Sequence[ModelHost], metrics: ApiServerMetrics) -> None:
        self._metrics = metrics
        self._loops = {host: host.loop() for host in hosts}
        self._tasks: dict[ModelHost, asyncio.Task[None]] = {}

    async def __aenter__(self) -> Self:
        for host in tuple(self._loops):
            self._run(host)
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        await asyncio.gather(*(host.close() for host in self._loops))

    def __iter__(self) -> Iterator[ModelHost]:
        return iter(tuple(self._loops))

    @property
    def loops(self) -> tuple[Loop, ...]:
        """The loops of all hosts."""
        return tuple(self._loops.values())

    def start(self, host: ModelHost) -> None:
        """Start a further host's loop."""
        self._loops[host] = host.loop()
        self._run(host)

    async def stop(self, host: ModelHost) -> None:
        """Stop a host and its engine; its metrics stay until :meth:`forget`."""
        task = self._tasks.pop(host)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        try:
            await host.close()
        finally:
            del self._loops[host]

    def forget(self, name: str) -> None:
        """Drop a model's metrics, unless a host of its name runs."""
        if all(host.entry.name != name for host in self._loops):
            self._metrics.forget(name)

    def _run(self, host: ModelHost) -> None:
        loop = self._loops[host]
        self._tasks[host] = asyncio.create_task(loop.run(), name=loop.name)


CACHED_PAIRS: Final = 1024  # many more than clients request


@dataclass(frozen=True, slots=True)
class Routing:
    """Serving hosts, in order of preference, and draining ones; never changed."""

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
        """Return the routing to ``hosts``, while others drain."""
        return Routing.of(hosts, (*self.draining, *leaving))

    def without(self, left: ModelHost) -> Routing:
        """Return the routing without a host that has drained."""
        return Routing.of(self.hosts, tuple(host for host in self.draining if host is not left))
