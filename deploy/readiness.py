"""Reader of a proxy's ``GET /health``: which API servers and pairs are ready, and why not.

Used by the launcher and by rolls, which have no package but Python's own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

POLL_SECONDS = 0.3
# The proxy's words for it.
DRAINED = "drained by an operator"


def why_not_ready(replica: Mapping[str, Any]) -> str | None:
    """Return why the proxy does not send requests of all its pairs to an API server, or None.

    A drained one is as its operator wants it, so it counts as ready.
    """
    if replica["state"] != "ready":
        return None if replica.get("why") == DRAINED else f"{replica['state']}: {replica.get('why')}"
    waiting = [f"{name}: {pair['why']}" for name, pair in replica["pairs"].items() if not pair["ready"]]
    return "; ".join(waiting) or None


def ready_pairs(*healths: Mapping[str, Any]) -> frozenset[str]:
    """Return the pairs that any of these proxies sees ready."""
    return _ready(replica for health in healths for replica in health.get("replicas", ()))


def find_replica(health: Mapping[str, Any], host_name: str) -> Mapping[str, Any] | None:
    """Return the API server of a host name, which its id starts with, or None."""
    lines: Sequence[Mapping[str, Any]] = health.get("replicas", ())
    return next((each for each in lines if str(each.get("replica_id") or "").startswith(host_name)), None)


def pairs_served_alone(health: Mapping[str, Any], host_name: str) -> list[str]:
    """Return the pairs that only the API server of this host name serves."""
    replica = find_replica(health, host_name)
    others = [each for each in health.get("replicas", ()) if each is not replica]
    return (
        sorted({pair for pair, line in replica["pairs"].items() if line["ready"]} - _ready(others)) if replica else []
    )


def why_redis_is_away(health: Mapping[str, Any]) -> str | None:
    """Return why the proxy does not reach Redis, or None."""
    redis: Mapping[str, Any] = health.get("redis") or {"up": True}
    return None if redis["up"] else str(redis.get("error"))


def _ready(replicas: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    return frozenset(
        pair for each in replicas if each["state"] == "ready" for pair, line in each["pairs"].items() if line["ready"]
    )


@dataclass(slots=True)
class ReadinessMonitor:
    """Monitor of a launch, as the proxy sees it; ``say`` gets each change (name, message) once.

    ``replicas`` are the API servers' URLs by name; ``read_health`` returns None while the proxy does not answer.
    """

    replicas: Mapping[str, str]
    read_health: Callable[[], Awaitable[Mapping[str, Any] | None]]
    say: Callable[[str, str], None]
    missing: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.missing = dict.fromkeys(["proxy", *self.replicas], "does not answer yet")

    async def wait(self) -> list[str]:
        """Return the pairs once all are ready; until then ``missing`` has a reason for each server that is not."""
        names = {url: name for name, url in self.replicas.items()}
        while True:
            health = await self.read_health() or {}
            if health and self.missing.pop("proxy", None):
                self.say("proxy", "answers")
            for replica in health.get("replicas", ()):
                # One that has not answered has no id.
                if (name := names.get(replica["url"])) and replica["replica_id"]:
                    self._note(name, why_not_ready(replica), replica)
            if not self.missing:
                return sorted(ready_pairs(health))
            await asyncio.sleep(POLL_SECONDS)

    def _note(self, name: str, why: str | None, replica: Mapping[str, Any]) -> None:
        if why is None and self.missing.pop(name, None):
            others = [each for each in self.missing if each != "proxy"]
            later = f" (they serve already; still starting: {', '.join(others)})" if others else ""
            self.say(name, f"ready: {', '.join(replica['pairs'])}{later}")
        elif why is not None and self.missing.get(name) != why:
            self.missing[name] = why
            self.say(name, f"not ready: {why}")
