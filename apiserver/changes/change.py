"""One entry's change: its state, its steps' times, its outcome."""

from __future__ import annotations

import logging
from collections.abc import Callable

from apiserver.changes.plan import PlannedChange
from apiserver.changes.reports import ChangeOutcome, ChangeReport, ChangeStep

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
        if step is self.step:
            return
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
        """Return the state as operators see it."""
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
