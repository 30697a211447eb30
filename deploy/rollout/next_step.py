"""The next step of a roll; pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

from deploy.rollout.containers import Container, Service

# A server that ended so often is not going to start.
MAX_RESTARTS = 3
# sysexits.h: EX_CONFIG, of a server with a wrong setting or catalog.
EXIT_CONFIG = 78


class Action(StrEnum):
    """What happens next to a service."""

    START = "start one"
    STOP = "stop"
    REPLACE = "replace"
    WAIT = "wait for"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Step:
    """One action, with its container unless it starts one or is done; REPLACE ends it before its successor starts."""

    action: Action
    container: Container | None = None


def next_step(
    service: Service,
    containers: Sequence[Container],
    *,
    fresh_ids: Collection[str],
    ready_ids: Collection[str],
    in_place: bool,
) -> Step:
    """Return the next step towards ``replicas`` fresh, ready containers.

    It depends on the present containers alone, so that a roll that was broken off continues. ``fresh_ids`` are the
    containers as they should be, ``ready_ids`` those of them that serve. No container ends before a fresh one serves
    in its place, except ``in_place``, and never two at once.
    """
    by_age = sorted(containers, key=lambda each: each.number)
    ended = [each for each in by_age if not each.is_running]
    if ended:
        return Step(Action.STOP, ended[0])
    fresh = [each for each in by_age if each.id in fresh_ids]
    stale = [each for each in by_age if each.id not in fresh_ids]
    waiting = [each for each in fresh if each.id not in ready_ids]
    if waiting:
        return Step(Action.WAIT, waiting[0])
    surplus = len(fresh) + len(stale) - service.replicas
    if surplus > 0:
        # Unhealthy ones first.
        unhealthy_first = sorted(stale or fresh[::-1], key=lambda each: each.health == "healthy")
        return Step(Action.STOP, unhealthy_first[0])
    if surplus == 0 and not stale:
        return Step(Action.DONE)
    if surplus == 0 and in_place:
        return Step(Action.REPLACE, min(stale, key=lambda each: each.health == "healthy"))
    return Step(Action.START)


def why_failed(container: Container, *, waited: float, timeout: float, restarts_before: int) -> str | None:
    """Return the reason to give up a container that is not ready, or None; ``restarts_before`` are older ones."""
    restarts = container.restarts - restarts_before
    if container.exit_code == EXIT_CONFIG and container.state != "running":
        return "it refuses its settings or its catalog (exit code 78)"
    if container.state in {"exited", "dead"}:
        return f"it ended with exit code {container.exit_code}"
    if restarts >= MAX_RESTARTS:
        return f"it ended {restarts} times"
    if waited > timeout:
        return f"it was not ready after {timeout:.0f} s"
    return None
