"""Model changer: an operator's calls, and the one change at a time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from apiserver.catalog import loader
from apiserver.catalog.loader import UnknownEntryError
from apiserver.catalog.model_entry import ModelEntry
from apiserver.catalog.model_fingerprint import model_revision
from apiserver.catalog.yaml_file import CatalogError
from apiserver.changes.change import ChangeOutcome, ChangeStep, ModelChange
from apiserver.changes.change_run import ChangeRun, ChangeServices
from apiserver.changes.memory import check_memory, check_shares, need_of
from apiserver.changes.model_list import ModelLine, Models, model_line
from apiserver.changes.orders import ChangeOrder, ReloadOrder, RollbackOrder
from apiserver.changes.plan import ChangeKind, ChangePlan, PreviousModel, check_entry, hosted, ranks_of
from apiserver.hosting.model_host import ModelHost
from apiserver.metrics import ApiServerMetrics
from shared.protocol.errors import CatalogRefusedError, ChangeRefusedError, PairwayError, UnknownModelError

log = logging.getLogger(__name__)

# An idle engine's stop, on a busy machine. So a hurried rollback is not refused just after the switch.
UNLOAD_WAIT_SECONDS: Final = 20.0


class ModelChanger:
    """Changes of one server's models, one at a time.

    Mutable state: the run, its task, what waits, the last change, and what served before, by present name.
    """

    def __init__(
        self, services: ChangeServices, catalog: Path, metrics: ApiServerMetrics, wall_clock: Callable[[], float]
    ) -> None:
        self._services = services
        self._catalog = catalog
        self._metrics = metrics
        self._wall_clock = wall_clock
        self._deciding = asyncio.Lock()
        self._run: ChangeRun | None = None
        self._task: asyncio.Task[None] | None = None
        self._signalled: asyncio.Task[None] | None = None
        self._waiting: list[ChangePlan] = []
        self._last: ModelChange | None = None
        self._last_switched: str | None = None
        self._previous: dict[str, PreviousModel] = {}
        for outcome in ChangeOutcome:  # born at 0, so that the first one is seen
            metrics.model_changes.labels(outcome)

    async def change(self, order: ChangeOrder) -> None:
        """Begin to replace a hosted model by an entry on disk.

        Raises:
            PairwayError: unknown, refused, or another change runs; nothing has changed.
        """
        async with self._deciding:
            await self._check_free()
            old = hosted(self._services.server.hosts, order.model)
            entry, catalog = await self._entry(order.entry)
            ranks = ranks_of(old, catalog.ranks(entry))
            await self._begin([ChangePlan(ChangeKind.CHANGE, old, entry, ranks, order.hold, order.swap)])

    async def rollback(self, order: RollbackOrder) -> None:
        """Begin to return to the model that served before.

        Raises:
            PairwayError: unknown, refused, or another change runs; nothing has changed.
        """
        async with self._deciding:
            await self._check_free()
            name = order.model or self._last_switched
            if name is None:
                raise ChangeRefusedError(
                    "No model was changed since this server started: there is nothing to return to."
                )
            old = hosted(self._services.server.hosts, name)
            before = self._previous.get(name)
            if before is None:
                raise ChangeRefusedError(f"{name} has replaced no other model since this server started.")
            plan = ChangePlan(
                ChangeKind.ROLLBACK,
                old,
                before.entry,
                before.ranks,
                swap=order.swap,
                expected_revision=before.revision,
            )
            await self._begin([plan])

    async def reload(self, order: ReloadOrder) -> None:
        """Begin to replace each model whose entry or weights on disk differ.

        Raises:
            PairwayError: refused, or another change runs; nothing has changed.
        """
        async with self._deciding:
            await self._check_free()
            plans = await self._differing(order)
            if plans:
                await self._begin(plans)
            else:
                log.info("catalog reloaded: no model differs", extra={"catalog": str(self._catalog)})

    def reload_by_signal(self) -> None:
        """Begin a reload without an answer; a refusal is logged."""
        self._signalled = asyncio.create_task(self._reload_and_log(), name="catalog-reload")

    def switch(self) -> None:
        """Let the held candidate serve.

        Raises:
            ChangeRefusedError: there is none, or it is not ready.
        """
        run = self._run
        if run is None or run.change.step is not ChangeStep.HELD:
            state = "no change runs" if run is None else f"the change is {run.change.step}"
            raise ChangeRefusedError(f"There is no held candidate to switch to: {state}.")
        if issue := run.candidate_issue():
            raise ChangeRefusedError(f"The candidate is not ready: {issue}.")
        run.switch()

    def abandon(self) -> None:
        """Unload the candidate and keep the old model.

        Raises:
            ChangeRefusedError: no change runs, or it has switched.
        """
        if self._run is None:
            raise ChangeRefusedError("No change runs.")
        if not self._run.can_be_abandoned:
            step = self._run.change.step
            raise ChangeRefusedError(f"The change is {step}, which cannot be abandoned; roll back when it is done.")
        self._waiting.clear()
        self._run.abandon()

    async def models(self) -> Models:
        """Return every model of the server, and the changes."""
        routing, run = self._services.server.routing, self._run
        device = await asyncio.to_thread(self._services.memory.device)
        states = [(host, "serving") for host in routing.hosts] + [(host, "draining") for host in routing.draining]
        if run is not None and run.candidate is not None and run.candidate not in routing.hosts:
            states.append((run.candidate, "candidate"))
        lines = [await asyncio.to_thread(model_line, host, state, device) for host, state in states]
        names = {line.name for line in lines}
        lines += [
            ModelLine(name=before.entry.name, state="previous", revision=before.revision, needed_bytes=None, pairs={})
            for before in self._previous.values()
            if before.entry.name not in names
        ]
        return Models(
            models=lines,
            change=None if run is None else run.report(),
            waiting=[plan.entry.name for plan in self._waiting],
            last_change=None if self._last is None else self._last.report(),
        )

    async def close(self) -> None:
        """Stop the change that runs; its hosts end with the server's."""
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
        """Wait for an old engine that stops; refuse during a change."""
        if self._task is not None and self._run is not None and self._run.change.step is ChangeStep.UNLOADING:
            await asyncio.wait({self._task}, timeout=UNLOAD_WAIT_SECONDS)
        if self._services.server.draining:
            raise ChangeRefusedError("This server is stopping.")
        if self._run is not None:
            plan = self._run.change.plan
            raise ChangeRefusedError(
                f"The change of {plan.old.entry.name} to {plan.entry.name} runs ({self._run.change.step}); "
                "wait until it is done, or abandon it."
            )

    async def _entry(self, name: str) -> tuple[ModelEntry, loader.Catalog]:
        try:
            catalog, entry = await asyncio.to_thread(loader.read_entry, self._catalog, name)
        except UnknownEntryError as error:
            raise UnknownModelError(f"{error}.") from error
        except (CatalogError, OSError) as error:
            raise _refused(error) from error
        return entry, catalog

    async def _differing(self, order: ReloadOrder) -> list[ChangePlan]:
        hosts = self._services.server.hosts
        names = [host.entry.name for host in hosts]
        try:
            catalog = await asyncio.to_thread(loader.read, self._catalog, names)
        except (CatalogError, OSError) as error:
            raise _refused(error) from error
        entries = {entry.name: entry for entry in catalog.hosted}
        plans: list[ChangePlan] = []
        for host in hosts:
            entry = entries[host.entry.name]
            if await _differs(host, entry):
                ranks = ranks_of(host, catalog.ranks(entry))
                plans.append(ChangePlan(ChangeKind.RELOAD, host, entry, ranks, swap=order.swap))
        return plans

    async def _begin(self, plans: Sequence[ChangePlan]) -> None:
        """Check every plan, then run them one after the other."""
        for plan in plans:
            if plan.kind is not ChangeKind.ROLLBACK:
                check_entry(self._services.server.hosts, plan.old, plan.entry)
        await self._check_memory(plans)
        self._waiting = list(plans)
        self._next_run()
        self._task = asyncio.create_task(self._run_all(), name="model-change")

    async def _check_memory(self, plans: Sequence[ChangePlan]) -> None:
        """Check every plan's share, and the first one's memory."""
        plan = plans[0]
        memory, old = self._services.memory, plan.old.entry
        device = await asyncio.to_thread(memory.device)
        if plan.swap and device != "cpu":
            return
        loaded = {host.entry.name: host.entry for host in self._services.server.hosts}
        for each in plans:
            check_shares(each.entry, loaded.values(), device)
            loaded[each.old.entry.name] = each.entry
        try:
            need = await asyncio.to_thread(need_of, plan.entry, device)
            freed = (await asyncio.to_thread(need_of, old, device)).total if plan.swap else 0
        except ChangeRefusedError:
            if plan.swap:  # the operator decides
                return
            raise
        check_memory(plan.entry, need, memory.available_bytes(), freed)

    def _next_run(self) -> ChangeRun:
        change = ModelChange(self._waiting.pop(0), self._services.clock, self._wall_clock)
        self._run = ChangeRun(change, self._services)
        return self._run

    async def _run_all(self) -> None:
        run = self._run
        while run is not None:
            plan = run.change.plan
            revision = plan.old.revision
            await run.run()
            self._note_end(run.change, PreviousModel(plan.old.entry, plan.old.ranks, revision))
            go_on = run.change.outcome is ChangeOutcome.SWITCHED and self._waiting
            self._run = None
            run = self._next_run() if go_on else None
        self._waiting.clear()  # of a reload, what follows a failure is not tried

    def _note_end(self, change: ModelChange, before: PreviousModel) -> None:
        self._last = change
        if change.outcome is not None:
            self._metrics.model_changes.labels(change.outcome).inc()
        if change.outcome is ChangeOutcome.SWITCHED:
            self._previous.pop(before.entry.name, None)
            self._previous[change.plan.entry.name] = before
            self._last_switched = change.plan.entry.name


def _refused(error: Exception) -> CatalogRefusedError:
    mistakes = str(error).splitlines()
    return CatalogRefusedError("; ".join(mistakes), facts={"issues": mistakes})


async def _differs(host: ModelHost, entry: ModelEntry) -> bool:
    if entry != host.entry:
        return True
    commit = None if host.engine is None else host.engine.progress().revision
    if host.revision is None or host.engine is None:
        return False  # it loads what is on disk anyway
    try:
        return await asyncio.to_thread(model_revision, entry, commit) != host.revision
    except OSError as error:
        raise CatalogRefusedError(f"The weights of {entry.name} cannot be read: {error}.") from error
