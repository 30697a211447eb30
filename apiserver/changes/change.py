"""One model change: its state, its steps' times, its outcome."""

from __future__ import annotations

import logging
from collections.abc import Callable
from enum import StrEnum

from pydantic import BaseModel, Field

from apiserver.changes.plan import ChangeKind, ChangePlan

log = logging.getLogger(__name__)


class ChangeStep(StrEnum):
    """Step of a change."""

    DRAINING = "draining"
    LOADING = "loading"
    PROVING = "proving"
    HELD = "held"
    UNLOADING = "unloading"
    RESTORING = "restoring"
    DONE = "done"


class ChangeOutcome(StrEnum):
    """End of a change."""

    SWITCHED = "switched"
    FAILED = "failed"
    ABANDONED = "abandoned"


class ChangeReport(BaseModel):
    """A change as operators see it; ``started_at`` is Unix time."""

    kind: ChangeKind
    model: str = Field(description="The model that is replaced.")
    entry: str = Field(description="The catalog's entry that replaces it.")
    hold: bool
    swap: bool
    step: ChangeStep
    outcome: ChangeOutcome | None = Field(description="null while it runs.")
    why: str | None = Field(
        description="Why it failed, why a held one cannot be switched, or why the old engine did not stop."
    )
    started_at: float
    seconds: dict[str, float] = Field(description="Seconds of each step so far.")
    note: str | None = Field(description="What the operator has to do next.")


class ModelChange:
    """One change; mutable state: step, outcome, times. ``wall_clock`` gives Unix time."""

    def __init__(self, plan: ChangePlan, clock: Callable[[], float], wall_clock: Callable[[], float]) -> None:
        self.plan = plan
        self.step = ChangeStep.DRAINING if plan.swap else ChangeStep.LOADING
        self.outcome: ChangeOutcome | None = None
        self.why: str | None = None
        self._clock = clock
        self._started_at = wall_clock()
        self._step_began = clock()
        self._seconds: dict[str, float] = {}
        # A name of its own: after the switch the host's metrics are gone.
        self._old_name = plan.old.entry.name
        log.info("model change", extra={**self._log_fields, "kind": plan.kind, "step": self.step})

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
        self.step, self.outcome, self.why = ChangeStep.DONE, outcome, why
        level = logging.INFO if outcome is ChangeOutcome.SWITCHED else logging.ERROR
        fields = {**self._log_fields, "outcome": outcome, "last_step": last, "seconds": self._seconds, "why": why}
        log.log(level, "model change ended", extra=fields)

    def report(self, candidate_issue: str | None = None) -> ChangeReport:
        """Return the state; ``candidate_issue`` keeps a held candidate from the switch."""
        now = {} if self.step is ChangeStep.DONE else {str(self.step): self._passed()}
        return ChangeReport(
            kind=self.plan.kind,
            model=self._old_name,
            entry=self.plan.entry.name,
            hold=self.plan.hold,
            swap=self.plan.swap,
            step=self.step,
            outcome=self.outcome,
            why=self.why or candidate_issue,
            started_at=self._started_at,
            seconds=self._seconds | now,
            note=self._note(),
        )

    @property
    def _log_fields(self) -> dict[str, object]:
        return {"model": self._old_name, "entry": self.plan.entry.name}

    def _end_step(self) -> None:
        self._seconds[str(self.step)] = self._passed()
        self._step_began = self._clock()

    def _passed(self) -> float:
        return round(self._clock() - self._step_began, 1)

    def _note(self) -> str | None:
        if self.step is ChangeStep.HELD:
            return "The candidate is proven and waits: switch to it, or abandon the change."
        is_new_name = self.plan.kind is ChangeKind.CHANGE and self._old_name != self.plan.entry.name
        if self.outcome is ChangeOutcome.SWITCHED and is_new_name:
            return (
                f"Until the next restart only: to keep {self.plan.entry.name}, put it in the place of "
                f"{self._old_name} in APISERVER_MODELS and in the catalog's order."
            )
        return None
