"""Running hosts: the loops of all hosts, which come and go."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Self

from apiserver.hosting.model_host import ModelHost
from apiserver.metrics import ApiServerMetrics
from shared.runtime.background import Loop


class RunningHosts:
    """All hosts of a server with their loops, serving or not.

    The loops of ``hosts`` start with the block; its end stops all. Mutable state: hosts with their loops and tasks.
    """

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
