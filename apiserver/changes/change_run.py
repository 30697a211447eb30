"""Change run: the steps of one model change."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from apiserver.changes.change import ChangeOutcome, ChangeReport, ChangeStep, ModelChange
from apiserver.changes.memory import MemorySource, check_memory, need_of
from apiserver.hosting.host_builder import HostBuilder
from apiserver.hosting.model_host import ModelHost
from apiserver.hosting.running_hosts import RunningHosts
from apiserver.model_server import ModelServer
from shared.protocol.errors import PairwayError

log = logging.getLogger(__name__)

# Pause between two looks at a host, which itself looks at its engine so often.
LOOK_SECONDS: Final = 0.1
# A large model's download and load; the same as the longest start that docs/operations/docker.md gives a container.
MAX_LOAD_SECONDS: Final = 3600.0
# Canaries of a sampling model may fail once by chance; a wrong model fails always.
MAX_CANARY_ROUNDS: Final = 3
# Shadow traffic of a week; then the candidate's memory is free again.
MAX_HOLD_SECONDS: Final = 7 * 86_400.0
# Added to the longest deadline of a request, so that its answer is sent.
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
    """Run of one change.

    Mutable state: the candidate, and what the operator asked meanwhile.
    """

    def __init__(self, change: ModelChange, services: ChangeServices) -> None:
        self.change = change
        self.candidate: ModelHost | None = None
        self._services = services
        self._switch_asked = False
        self._abandoned = False

    @property
    def can_be_abandoned(self) -> bool:
        """Whether the old model still serves, or can again."""
        return self.change.step not in {ChangeStep.UNLOADING, ChangeStep.RESTORING, ChangeStep.DONE}

    def switch(self) -> None:
        """Let a held candidate serve."""
        self._switch_asked = True

    def abandon(self) -> None:
        """Stop at the next look, and unload the candidate."""
        self._abandoned = True

    def candidate_issue(self) -> str | None:
        """Return why the candidate is not ready, if it is not."""
        if self.candidate is None:
            return None
        issues = self.candidate.issues
        return "; ".join(f"{pair}: {why}" for pair, why in list(issues.items())[:3]) or None

    def report(self) -> ChangeReport:
        """Return the change's state."""
        return self.change.report(self.candidate_issue() if self.change.step is ChangeStep.HELD else None)

    async def run(self) -> None:
        """Run all steps; whatever fails, the old model serves on, or again."""
        try:
            await (self._swap() if self.change.plan.swap else self._beside())
        except ChangeStoppedError as stopped:
            self.change.end(stopped.outcome, stopped.why)
        except Exception as error:
            log.exception("model change raised", extra={"model": self.change.plan.old.entry.name})
            self.change.end(ChangeOutcome.FAILED, _reason(error))

    async def _beside(self) -> None:
        plan, server = self.change.plan, self._services.server
        candidate = await self._proven(beside=True)
        try:
            if plan.hold:
                server.routing = server.routing.with_candidate(candidate)
                self.change.begin(ChangeStep.HELD)
                await self._until(lambda: self._switch_asked, MAX_HOLD_SECONDS, "it was held too long")
            self._check_ready()
        except BaseException:
            await self._drop(candidate)
            raise
        self._switch(plan.old, candidate)
        self.change.begin(ChangeStep.UNLOADING)
        await self._drained(plan.old)
        self.change.end(ChangeOutcome.SWITCHED, await self._stop_issue(plan.old))

    async def _stop_issue(self, old: ModelHost) -> str | None:
        """Unload the old model; return why its engine did not stop."""
        try:
            await self._unload(old)
        except Exception as error:
            log.exception("old engine not stopped", extra={"model": old.entry.name})
            return (
                f"the new model serves, but the old engine of {old.entry.name} did not stop cleanly and may keep its "
                f"memory until a restart: {_reason(error)}"
            )
        return None

    async def _swap(self) -> None:
        old, server = self.change.plan.old, self._services.server
        await old.withdraw(CHANGING)
        try:
            await self._drained(old, can_stop=True)
        except ChangeStoppedError:
            old.reinstate()
            raise
        try:
            await self._services.running.stop(old)
            candidate = await self._proven(beside=False)
        except Exception as error:
            outcome = error.outcome if isinstance(error, ChangeStoppedError) else ChangeOutcome.FAILED
            why = error.why if isinstance(error, ChangeStoppedError) else _reason(error)
            raise ChangeStoppedError(outcome, f"{why}; {await self._restored(old)}") from error
        self._switch(old, candidate)
        server.routing = server.routing.without(old)
        self._services.running.forget(old.entry.name)
        self.change.end(ChangeOutcome.SWITCHED)

    async def _proven(self, *, beside: bool) -> ModelHost:
        """Return the loaded candidate once all its canaries passed."""
        plan, services = self.change.plan, self._services
        self.change.begin(ChangeStep.LOADING)
        await self._check_memory()
        candidate = self.candidate = services.builder.candidate(plan.entry, plan.ranks, beside=beside)
        services.running.start(candidate)
        try:
            await self._until(lambda: self._is_proven(candidate), MAX_LOAD_SECONDS, "it took too long to load")
            self._check_revision(candidate)
        except BaseException:
            await self._drop(candidate)
            raise
        return candidate

    async def _check_memory(self) -> None:
        """Look again, because meanwhile others may have taken memory."""
        entry, memory = self.change.plan.entry, self._services.memory
        try:
            device = await asyncio.to_thread(memory.device)
            if device != "cpu":
                return
            if not self.change.plan.swap:
                check_memory(entry, await asyncio.to_thread(need_of, entry, device), memory.available_bytes())
        except PairwayError as error:
            raise ChangeStoppedError(ChangeOutcome.FAILED, error.detail) from error

    def _is_proven(self, candidate: ModelHost) -> bool:
        if candidate.engine is not None:
            self.change.begin(ChangeStep.PROVING)
        issue = self.candidate_issue()
        if issue is None:
            return True
        if candidate.engine_failures or candidate.canary_rounds >= MAX_CANARY_ROUNDS:
            raise ChangeStoppedError(ChangeOutcome.FAILED, issue)
        return False

    def _switch(self, old: ModelHost, candidate: ModelHost) -> None:
        server = self._services.server
        server.routing = server.routing.replaced(old, candidate)
        candidate.serve()

    async def _drained(self, host: ModelHost, *, can_stop: bool = False) -> None:
        """Wait until the host's requests are finished, or too late."""
        longest = self._services.drain_seconds + DRAIN_MARGIN_SECONDS
        await self._wait(lambda: not host.admission.texts, longest, can_stop=can_stop)

    async def _unload(self, host: ModelHost) -> None:
        server = self._services.server
        try:
            await self._services.running.stop(host)
        finally:
            server.routing = server.routing.without(host)
            self._services.running.forget(host.entry.name)

    async def _drop(self, candidate: ModelHost) -> None:
        self.candidate = None
        await self._unload(candidate)

    async def _restored(self, old: ModelHost) -> str:
        """Start the old model again; return what became of it."""
        services, server = self._services, self._services.server
        self.change.begin(ChangeStep.RESTORING)
        restored = services.builder.host(old.entry, old.ranks)
        services.running.start(restored)
        server.routing = server.routing.replaced(old, restored).without(old)
        if not await self._wait(lambda: not restored.issues, MAX_LOAD_SECONDS, can_stop=False):
            return f"{old.entry.name} is started again, but is not ready: {next(iter(restored.issues.values()))}"
        return f"{old.entry.name} was started again and serves"

    async def _until(self, condition: Callable[[], bool], seconds: float, late: str) -> None:
        if not await self._wait(condition, seconds, can_stop=True):
            raise ChangeStoppedError(ChangeOutcome.FAILED, f"{late} (more than {seconds:g} s)")

    async def _wait(self, condition: Callable[[], bool], seconds: float, *, can_stop: bool) -> bool:
        """Return whether the condition came true in time."""
        ends = self._services.clock() + seconds
        while not condition():
            if can_stop and self._abandoned:
                raise ChangeStoppedError(ChangeOutcome.ABANDONED, "an operator abandoned it")
            if self._services.clock() >= ends:
                return False
            await asyncio.sleep(LOOK_SECONDS)
        return True

    def _check_ready(self) -> None:
        if issue := self.candidate_issue():
            raise ChangeStoppedError(ChangeOutcome.FAILED, f"the candidate is no longer ready: {issue}")

    def _check_revision(self, candidate: ModelHost) -> None:
        """Require that a rollback loads what served before."""
        plan = self.change.plan
        if plan.expected_revision not in {None, candidate.revision}:
            raise ChangeStoppedError(
                ChangeOutcome.FAILED,
                f"the files of {plan.entry.path} are no longer those that served: revision {candidate.revision}, "
                f"not {plan.expected_revision}",
            )


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:MAX_REASON_CHARACTERS]
