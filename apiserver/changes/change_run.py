"""Change run: the steps of one entry's change, and its state."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from apiserver.catalog.model_entry import ModelEntry
from apiserver.changes.memory import MemorySource, check_memory, need_of
from apiserver.changes.plan import CatalogComparison, PlannedChange
from apiserver.changes.reports import ChangeOutcome, ChangeReport, ChangeStep
from apiserver.hosting.model_host import ModelHost
from apiserver.hosting.server_hosts import HostBuilder, RunningHosts
from apiserver.model_server import ModelServer
from shared.protocol.errors import PairwayError

log = logging.getLogger(__name__)


class EntryChange:
    """One entry's change; mutable state: step, outcome, times."""

    def __init__(self, plan: PlannedChange, clock: Callable[[], float]) -> None:
        self.plan = plan
        self.step = ChangeStep.WAITING
        self.outcome: ChangeOutcome | None = None
        self._why: str | None = None
        self._clock = clock
        self._step_began = 0.0
        self._seconds: dict[str, float] = {}

    @property
    def can_stop(self) -> bool:
        """Whether the old models still serve, or can again."""
        return self.step not in {ChangeStep.UNLOADING, ChangeStep.RESTORING, ChangeStep.DONE}

    def begin(self, step: ChangeStep) -> None:
        """Begin the next step, unless it has begun."""
        if step is not self.step:
            self._end_step()
            self.step = step
            log.info("model change", extra={**self._log_fields, "step": step})

    def end(self, outcome: ChangeOutcome, why: str | None = None) -> None:
        """Record the outcome."""
        last = self.step
        self._end_step()
        self.step, self.outcome, self._why = ChangeStep.DONE, outcome, why
        level = logging.ERROR if outcome in {ChangeOutcome.FAILED, ChangeOutcome.CANCELLED} else logging.INFO
        fields = {**self._log_fields, "outcome": outcome, "last_step": last, "seconds": self._seconds, "why": why}
        log.log(level, "model change ended", extra=fields)

    def report(self) -> ChangeReport:
        """Return the state for operators."""
        is_running = self.step not in {ChangeStep.WAITING, ChangeStep.DONE}
        return ChangeReport(
            entry=None if self.plan.entry is None else self.plan.entry.name,
            replaces=[host.entry.name for host in self.plan.replaced],
            step=self.step,
            outcome=self.outcome,
            why=self._why,
            seconds=self._seconds | ({str(self.step): self._passed()} if is_running else {}),
        )

    @property
    def _log_fields(self) -> dict[str, object]:
        return self.report().model_dump(include={"entry", "replaces"})

    def _end_step(self) -> None:
        if self.step is not ChangeStep.WAITING:
            self._seconds[str(self.step)] = self._passed()
        self._step_began = self._clock()

    def _passed(self) -> float:
        return round(self._clock() - self._step_began, 1)


LOOK_SECONDS: Final = 0.1  # a host looks at its engine so often
# A large model's download and load; also a container's longest start (docs/operations/docker.md).
MAX_LOAD_SECONDS: Final = 3600.0
MAX_CANARY_ROUNDS: Final = 3  # canaries of a sampling model may fail once by chance; a wrong model fails always
# Added to a request's longest deadline, so that its answer is sent.
DRAIN_MARGIN_SECONDS: Final = 5.0
MAX_REASON_CHARACTERS: Final = 500

CHANGING: Final = "its model is being changed"


class ChangeStoppedError(Exception):
    """The change cannot or must not go on."""

    def __init__(self, outcome: ChangeOutcome, why: str) -> None:
        super().__init__(why)
        self.outcome = outcome
        self.why = why


@dataclass(frozen=True, slots=True)
class ChangeServices:
    """Services that all changes share; ``drain_seconds`` is the longest deadline."""

    server: ModelServer
    running: RunningHosts
    builder: HostBuilder
    memory: MemorySource
    clock: Callable[[], float]
    drain_seconds: float


class ChangeRun:
    """Run of one change; mutable state: whether it is cancelled."""

    def __init__(
        self, change: EntryChange, compared: CatalogComparison, services: ChangeServices, *, swap: bool
    ) -> None:
        self.change = change
        self._compared = compared
        self._services = services
        # With nothing to unload first, a model is loaded beside the others.
        self._swap = swap and bool(change.plan.replaced)
        self._cancelled = False

    def cancel(self) -> None:
        """Stop at the next look, and unload what was loaded."""
        self._cancelled = True

    async def run(self) -> None:
        """Run all steps; whatever fails, the old models serve on, or again."""
        plan = self.change.plan
        try:
            if plan.entry is None:
                self._check_switch(None)
                await self._switch_and_unload(None, ChangeOutcome.REMOVED)
            else:
                await (self._load_after if self._swap else self._load_beside)(plan.entry)
        except ChangeStoppedError as stopped:
            self.change.end(stopped.outcome, stopped.why)
        except Exception as error:
            log.exception("model change raised", extra={"entry": plan.entry and plan.entry.name})
            self.change.end(ChangeOutcome.FAILED, _reason(error))

    async def _load_beside(self, entry: ModelEntry) -> None:
        candidate = await self._proven(entry, beside=True)
        try:
            self._check_switch(candidate)
        except BaseException:
            await self._unload(candidate)
            raise
        await self._switch_and_unload(candidate, ChangeOutcome.SWITCHED)

    async def _switch_and_unload(self, candidate: ModelHost | None, outcome: ChangeOutcome) -> None:
        replaced = self.change.plan.replaced
        self._switch(candidate)
        self.change.begin(ChangeStep.UNLOADING)
        await self._drained(replaced)
        self.change.end(outcome, await self._stop_issue(replaced))

    async def _load_after(self, entry: ModelEntry) -> None:
        replaced = self.change.plan.replaced
        self.change.begin(ChangeStep.DRAINING)
        for host in replaced:
            await host.withdraw(CHANGING)
        try:
            await self._drained(replaced, can_stop=True)
        except ChangeStoppedError:
            for host in replaced:
                host.reinstate()
            raise
        try:
            await self._stop_all(replaced)
            candidate = await self._proven(entry, beside=False)
        except Exception as error:
            outcome = error.outcome if isinstance(error, ChangeStoppedError) else ChangeOutcome.FAILED
            why = error.why if isinstance(error, ChangeStoppedError) else _reason(error)
            raise ChangeStoppedError(outcome, f"{why}; {await self._restored(replaced)}") from error
        self._switch(candidate)
        for host in replaced:
            self._forget(host)
        self.change.end(ChangeOutcome.SWITCHED)

    async def _proven(self, entry: ModelEntry, *, beside: bool) -> ModelHost:
        """Return the loaded host once its canaries passed."""
        services = self._services
        self.change.begin(ChangeStep.LOADING)
        await self._check_memory(entry)
        candidate = services.builder.candidate(entry, self.change.plan.ranks, beside=beside)
        services.running.start(candidate)
        try:
            is_proven = await self._wait(lambda: self._note_progress(candidate), MAX_LOAD_SECONDS, can_stop=True)
            self._require(is_proven, f"it took too long to load (more than {MAX_LOAD_SECONDS:g} s)")
        except BaseException:
            await self._unload(candidate)
            raise
        return candidate

    async def _check_memory(self, entry: ModelEntry) -> None:
        """Look again: others may have taken memory."""
        memory = self._services.memory
        try:
            device = await asyncio.to_thread(memory.device)
            if device == "cpu" and not self._swap:
                check_memory(entry, await asyncio.to_thread(need_of, entry, device), memory.available_bytes())
        except PairwayError as error:
            raise ChangeStoppedError(ChangeOutcome.FAILED, error.detail) from error

    def _note_progress(self, candidate: ModelHost) -> bool:
        """Note the new host's step; return whether it is proven."""
        if candidate.engine is not None:
            self.change.begin(ChangeStep.PROVING)
        issue = _issue(candidate)
        has_failed = candidate.engine_failures or candidate.canary_rounds >= MAX_CANARY_ROUNDS
        self._require(issue is None or not has_failed, issue or "")
        return issue is None

    def _check_switch(self, candidate: ModelHost | None) -> None:
        replaced, routing = self.change.plan.replaced, self._services.server.routing
        for pair in sorted(self._compared.wanted, key=str):
            before = routing.by_pair.get(pair, ())
            after = [host for host in before if host not in replaced]
            after += [] if candidate is None or pair not in candidate.ranks else [candidate]
            is_lost = any(host.ready(pair) for host in before) and not any(host.ready(pair) for host in after)
            self._require(not is_lost, f"{pair} would have no ready model")

    def _require(self, condition: bool, why: str) -> None:  # noqa: FBT001 - as in an assertion
        if not condition:
            raise ChangeStoppedError(ChangeOutcome.FAILED, why)

    def _switch(self, candidate: ModelHost | None) -> None:
        server, replaced = self._services.server, self.change.plan.replaced
        new = () if candidate is None else (candidate,)
        staying = (host for host in server.routing.hosts if host not in replaced)
        server.routing = server.routing.switched(sorted((*staying, *new), key=self._compared.order), replaced)
        for host in new:
            host.serve()

    async def _drained(self, hosts: Sequence[ModelHost], *, can_stop: bool = False) -> None:
        longest = self._services.drain_seconds + DRAIN_MARGIN_SECONDS
        await self._wait(lambda: not any(host.admission.texts for host in hosts), longest, can_stop=can_stop)

    async def _stop_issue(self, hosts: Sequence[ModelHost]) -> str | None:
        """Unload the old models; return why an engine did not stop."""
        issue: str | None = None
        for host in hosts:
            try:
                await self._unload(host)
            except Exception as error:
                log.exception("old engine not stopped", extra={"model": host.entry.name})
                issue = (
                    f"the old engine of {host.entry.name} no longer serves, but did not stop cleanly and may keep its "
                    f"memory until a restart: {_reason(error)}"
                )
        return issue

    async def _stop_all(self, hosts: Sequence[ModelHost]) -> None:
        """Stop all hosts, then raise the first error."""
        ends = await asyncio.gather(*map(self._services.running.stop, hosts), return_exceptions=True)
        if errors := [end for end in ends if isinstance(end, Exception)]:
            raise errors[0]

    async def _unload(self, host: ModelHost) -> None:
        try:
            await self._services.running.stop(host)
        finally:
            self._forget(host)

    def _forget(self, host: ModelHost) -> None:
        server = self._services.server
        server.routing = server.routing.without(host)
        self._services.running.forget(host.entry.name)

    async def _restored(self, replaced: Sequence[ModelHost]) -> str:
        """Start the old models again; return what became of them."""
        services, server = self._services, self._services.server
        self.change.begin(ChangeStep.RESTORING)
        restored = [services.builder.host(host.entry, host.ranks) for host in replaced]
        again = dict(zip(replaced, restored, strict=True))
        server.routing = server.routing.switched([again.get(host, host) for host in server.routing.hosts])
        for host in restored:
            services.running.start(host)
        names = ", ".join(host.entry.name for host in restored)
        if await self._wait(lambda: not any(map(_issue, restored)), MAX_LOAD_SECONDS, can_stop=False):
            return f"{names} was started again and serves"
        return f"{names} was started again, but is not ready: {next(filter(None, map(_issue, restored)))}"

    async def _wait(self, condition: Callable[[], bool], seconds: float, *, can_stop: bool) -> bool:
        ends = self._services.clock() + seconds
        while not condition():
            if can_stop and self._cancelled:
                raise ChangeStoppedError(ChangeOutcome.CANCELLED, "an operator cancelled it")
            if self._services.clock() >= ends:
                return False
            await asyncio.sleep(LOOK_SECONDS)
        return True


def _issue(host: ModelHost) -> str | None:
    return "; ".join(f"{pair}: {why}" for pair, why in list(host.issues.items())[:3]) or None


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:MAX_REASON_CHARACTERS]
