"""The decisions of a roll: the next step, whether a container serves, what forbids a step; pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

from deploy.readiness import find_replica, pairs_served_alone, ready_pairs, why_not_ready, why_redis_is_away
from deploy.rollout.containers import Container, Kind, Service

# A server that ended so often is not going to start.
MAX_RESTARTS = 3
# sysexits.h: EX_CONFIG, of a server with a wrong setting or catalog.
EXIT_CONFIG = 78
NO_ANSWER = "no proxy answers"
_UNITS = {"B": 1, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}

# What happens next, and to which container, unless one more starts; "replace" ends it before its successor starts.
Step = tuple[Literal["start", "stop", "replace", "wait", "done"], Container | None]
# What each proxy that answers sees, by its container's name: its /health, with "accepts" for its /readyz.
Healths = Mapping[str, Mapping[str, Any]]


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
        # docker compose up would start them again.
        return "stop", ended[0]
    fresh = [each for each in by_age if each.id in fresh_ids]
    stale = [each for each in by_age if each.id not in fresh_ids]
    waiting = [each for each in fresh if each.id not in ready_ids]
    if waiting:
        return "wait", waiting[0]
    surplus = len(fresh) + len(stale) - service.replicas
    if surplus < 0 or (surplus == 0 and stale and not in_place):
        return "start", None
    if surplus == 0 and not stale:
        return "done", None
    # Unhealthy ones first, and of surplus fresh ones the youngest.
    chosen = min(stale or fresh[::-1], key=lambda each: each.health == "healthy")
    return "stop" if surplus else "replace", chosen


def why_failed(container: Container, *, waited: float, timeout: float) -> str | None:
    """Return the reason to give up a container that is not ready, or None."""
    if container.exit_code == EXIT_CONFIG and container.state != "running":
        return "it refuses its settings or its catalog (exit code 78)"
    if container.state in {"exited", "dead"}:
        return f"it ended with exit code {container.exit_code}"
    if container.restarts >= MAX_RESTARTS:
        return f"it ended {container.restarts} times"
    return f"it was not ready after {timeout:.0f} s" if waited > timeout else None


def why_not_serving(
    container: Container, kind: Kind, healths: Healths, *, pairs_before: Collection[str], has_proxies: bool
) -> str | None:
    """Return why a container does not serve yet, or None.

    A proxy sees the pairs that the others see, or saw (``pairs_before``). Its container's health would wait for every
    pair that a server has, also for those of a broken engine, which no other proxy serves either.
    """
    if container.state != "running":
        return f"it is {container.state}"
    if kind == "proxy":
        own = healths.get(container.name)
        if own is None or not own.get("accepts"):
            return "it does not answer" if own is None else "its /readyz is not 200"
        others = [each for name, each in healths.items() if name != container.name and each.get("accepts")]
        missing = (ready_pairs(*others) if others else frozenset(pairs_before)) - ready_pairs(own)
        return f"it does not see {', '.join(sorted(missing))} ready, as the old proxies did" if missing else None
    views = {name: find_replica(health, container.host_name) for name, health in healths.items()}
    reasons = [
        f"{name} sees: {why}"
        for name, line in views.items()
        if (why := "it is not among the servers that answer" if line is None else why_not_ready(line))
    ]
    if container.health not in {"healthy", ""}:
        return "; ".join([f"Docker finds it {container.health}", *reasons[:1]])
    return NO_ANSWER if has_proxies and not healths else next(iter(reasons), None)


def why_forbidden(step: Step, service: Service, healths: Healths, *, has_proxies: bool) -> str | None:
    """Return why a step would be an outage, or None.

    A pair's only server does not end, nor any server while no proxy says which. No proxy starts that could not read
    the API keys.
    """
    action, container = step
    if service.kind == "proxy" and service.has_keys and action in {"start", "replace"}:
        error = next((why for health in healths.values() if (why := why_redis_is_away(health))), None)
        return error and (
            f"Redis is away ({error}), so a new proxy would know no API keys. Start it first (docker compose up -d "
            "redis); --allow-outage rolls in spite of it"
        )
    if service.kind != "apiserver" or container is None or action == "wait" or not container.is_running:
        return None
    if has_proxies and not healths:
        return (
            f"{NO_ANSWER}, so {container.name} may be the only server of a pair; --allow-outage stops it all the same"
        )
    alone = sorted({pair for health in healths.values() for pair in pairs_served_alone(health, container.host_name)})
    pairs = ", ".join(alone)
    return f"{container.name} is the only server of {pairs}; --allow-outage accepts their outage" if alone else None


def why_no_capacity(service: Service, meminfo: str, stats: str) -> str | None:
    """Return why no container more runs beside a service's, or None.

    ``meminfo`` is the host's /proc/meminfo, ``stats`` are lines such as ``1.02GiB / 4GiB`` of `docker stats`.
    """
    if service.has_device:
        return "its GPU has memory for one engine"
    if any(count <= service.replicas for count in service.ports):
        return "PAIRWAY_PORT has no port for one more (COMPOSE_PROFILES=edge brings them: docs/operations/nginx.md)"
    found = re.search(r"^MemAvailable:\s*(\d+) kB", meminfo, re.MULTILINE)
    uses = re.findall(r"^([\d.]+)([A-Za-z]+) /", stats, re.MULTILINE)
    used = max((float(size) * _UNITS.get(unit.upper(), 0) for size, unit in uses), default=0) / 2**30
    available = int(found[1]) / 2**20 if found else used
    return f"{available:.1f} GiB of memory are free, and one uses {used:.1f} GiB" if available < used else None
