"""Reloader: an operator's calls, and the one reload at a time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from apiserver.catalog import loader
from apiserver.catalog.yaml_file import CatalogError
from apiserver.changes.change_run import ChangeRun, ChangeServices, EntryChange
from apiserver.changes.plan import CatalogComparison, check_fits, compare, plan_changes
from apiserver.changes.reports import (
    CatalogEntryLine,
    CatalogOnDisk,
    ChangeOutcome,
    ChangeStep,
    Models,
    ReloadOrder,
    ReloadOutcome,
    ReloadReport,
    model_line,
)
from apiserver.metrics import ApiServerMetrics
from shared.protocol.errors import CatalogRefusedError, ChangeRefusedError, PairwayError

log = logging.getLogger(__name__)

UNLOAD_WAIT_SECONDS: Final = 20.0  # an idle engine's stop on a busy machine, so that a hurried rollback is not refused


@dataclass(slots=True, eq=False)
class Reload:
    """One reload and its changes; ``started_at`` is Unix time."""

    order: ReloadOrder
    compared: CatalogComparison
    changes: Sequence[EntryChange]
    started_at: float

    @property
    def current(self) -> EntryChange | None:
        """The change that runs, or the next one; None after the last."""
        return next((change for change in self.changes if change.step is not ChangeStep.DONE), None)

    def report(self) -> ReloadReport:
        """Return the state for operators."""
        return ReloadReport(
            started_at=self.started_at,
            swap=self.order.swap,
            remove=self.order.remove,
            outcome=self._outcome(),
            changes=[change.report() for change in self.changes],
        )

    def _outcome(self) -> ReloadOutcome | None:
        outcomes = [change.outcome for change in self.changes]
        if ChangeOutcome.FAILED in outcomes:
            return ReloadOutcome.FAILED
        if ChangeOutcome.CANCELLED in outcomes:
            return ReloadOutcome.CANCELLED
        return None if None in outcomes else ReloadOutcome.DONE


class Reloader:
    """Reloads of one server's catalog, the last one too; ``names``: its entries."""

    def __init__(
        self,
        services: ChangeServices,
        catalog: Path,
        names: Sequence[str],
        metrics: ApiServerMetrics,
        wall_clock: Callable[[], float],
    ) -> None:
        self._services = services
        self._catalog = catalog
        self._names = names
        self._metrics = metrics
        self._wall_clock = wall_clock
        self._deciding = asyncio.Lock()
        self._reload: Reload | None = None
        self._last: Reload | None = None
        self._run: ChangeRun | None = None
        self._task: asyncio.Task[None] | None = None
        self._signalled: asyncio.Task[None] | None = None
        self._cancelled = False
        for outcome in ChangeOutcome:  # born at 0, so that the first one is seen
            metrics.model_changes.labels(outcome)

    async def reload(self, order: ReloadOrder) -> None:
        """Begin to serve the catalog on disk; a PairwayError changes nothing."""
        async with self._deciding:
            await self._check_free()
            compared = await self._compared()
            plans = plan_changes(self._services.server.hosts, compared, remove=order.remove)
            await asyncio.to_thread(
                check_fits, plans, self._services.server.hosts, self._services.memory, swap=order.swap
            )
            changes = [EntryChange(plan, self._services.clock) for plan in plans]
            reload = Reload(order, compared, changes, self._wall_clock())
            if not changes:
                self._follow_order(compared)
                self._last = reload
                log.info("catalog reloaded: no model differs", extra={"catalog": str(self._catalog)})
                return
            self._reload, self._cancelled = reload, False
            self._task = asyncio.create_task(self._run_all(reload), name="catalog-reload")

    def reload_by_signal(self) -> None:
        """Begin a reload without an answer; a refusal is logged."""
        self._signalled = asyncio.create_task(self._reload_and_log(), name="catalog-reload-by-signal")

    def cancel(self) -> None:
        """End the reload; raises ChangeRefusedError if all of it has switched."""
        change = None if self._reload is None else self._reload.current
        if self._reload is None or change is None:
            raise ChangeRefusedError("No reload runs.")
        if change is self._reload.changes[-1] and not change.can_stop:
            raise ChangeRefusedError(f"The reload is at its last step ({change.step}), which cannot be cancelled.")
        self._cancelled = True
        if self._run is not None:
            self._run.cancel()

    async def models(self) -> Models:
        """Return what serves, what the disk says, and the reloads."""
        server = self._services.server
        device = await asyncio.to_thread(self._services.memory.device)
        states = dict.fromkeys(server.hosts, "serving") | dict.fromkeys(server.routing.draining, "draining")
        states |= dict.fromkeys((host for host in self._services.running if host not in states), "loading")
        return Models(
            models=[await asyncio.to_thread(model_line, host, state, device) for host, state in states.items()],
            catalog=await self._on_disk(),
            reload=None if self._reload is None else self._reload.report(),
            last_reload=None if self._last is None else self._last.report(),
        )

    async def close(self) -> None:
        """Stop the reload; its hosts end with the server's."""
        tasks = [task for task in (self._signalled, self._task) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _reload_and_log(self) -> None:
        try:
            await self.reload(ReloadOrder())
        except PairwayError as error:
            log.error("catalog not reloaded", extra={"why": error.detail})  # noqa: TRY400 - the reason is enough

    async def _check_free(self) -> None:
        """Wait for an old engine that stops; refuse during a reload."""
        if self._task is not None and self._reload is not None:
            last = self._reload.changes[-1]
            if self._reload.current is last and last.step is ChangeStep.UNLOADING:
                await asyncio.wait({self._task}, timeout=UNLOAD_WAIT_SECONDS)
        if self._services.server.draining:
            raise ChangeRefusedError("This server is stopping.")
        if self._reload is not None and (change := self._reload.current) is not None:
            report = change.report()
            subject = report.entry or ", ".join(report.replaces)
            raise ChangeRefusedError(f"A reload runs ({subject}: {report.step}); wait until it is done, or cancel it.")

    async def _compared(self) -> CatalogComparison:
        hosts = self._services.server.hosts
        engines = {host.entry.name: host.engine for host in hosts}
        commits = {name: None if engine is None else engine.progress().revision for name, engine in engines.items()}
        try:
            catalog = await asyncio.to_thread(loader.read, self._catalog, self._names)
        except (CatalogError, OSError) as error:
            mistakes = str(error).splitlines()
            raise CatalogRefusedError("; ".join(mistakes), facts={"issues": mistakes}) from error
        return await asyncio.to_thread(compare, catalog, hosts, commits)

    async def _on_disk(self) -> CatalogOnDisk:
        try:
            compared = await self._compared() if self._reload is None else self._reload.compared
        except CatalogRefusedError as error:
            return CatalogOnDisk(entries=[], issues=error.facts.get("issues", [error.detail]))
        entries = [CatalogEntryLine(name=name, state=state) for name, state in compared.states.items()]
        return CatalogOnDisk(entries=entries, issues=[])

    async def _run_all(self, reload: Reload) -> None:
        for change in reload.changes:
            if self._cancelled:
                change.end(ChangeOutcome.CANCELLED, "an operator cancelled the reload before it began")
            else:
                self._run = ChangeRun(change, reload.compared, self._services, swap=reload.order.swap)
                await self._run.run()
                self._run = None
            if change.outcome is not None:
                self._metrics.model_changes.labels(change.outcome).inc()
            if change.outcome in {ChangeOutcome.FAILED, ChangeOutcome.CANCELLED}:
                break
        else:
            self._follow_order(reload.compared)
        self._reload, self._last = None, reload

    def _follow_order(self, compared: CatalogComparison) -> None:
        server = self._services.server
        entries = {entry.name: entry for entry in compared.catalog.hosted}
        for host in server.hosts:
            if host.entry.name in entries:
                host.ranks = compared.catalog.ranks(entries[host.entry.name])
        server.routing = server.routing.switched(sorted(server.hosts, key=compared.order))
