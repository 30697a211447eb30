"""What a proxy sees of the API servers, in its ``/health``; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

# A container's host name is the start of its id, and a replica's id starts with the host name.
HOST_NAME_CHARS = 12
# A program for the proxy's container that prints its /health, with "accepts" for its /readyz.
READ_HEALTH = (
    "import http.client as h, json; c = h.HTTPConnection('127.0.0.1', 8000, timeout=4); "
    "ask = lambda path: (c.request('GET', path), c.getresponse())[1]; "
    "status = (answer := ask('/readyz')).status; answer.read(); "
    "print(json.dumps({**json.loads(ask('/health').read()), 'accepts': status == 200}))"
)
# The proxy's words for it.
DRAINED = "drained by an operator"


def find_replica(health: Mapping[str, Any], container_id: str) -> Mapping[str, Any] | None:
    """Return a container's line, or None."""
    host_name = container_id[:HOST_NAME_CHARS]
    for replica in health.get("replicas", ()):
        if str(replica.get("replica_id") or "").startswith(host_name):
            return replica
    return None


def why_not_served(health: Mapping[str, Any], container_id: str) -> str | None:
    """Return why the proxy does not send all pairs of this container requests, or None.

    A drained container is as its operator wants it, so it counts as served.
    """
    replica = find_replica(health, container_id)
    if replica is None:
        # A replica that refused the proxy's token, for example, has no id.
        silent = [f"{each.get('url')}: {each['why']}" for each in health.get("replicas", ()) if _is_silent(each)]
        return "; ".join(["it is not among the servers that answer", *silent])
    if replica["state"] != "ready":
        return None if replica.get("why") == DRAINED else f"{replica['state']}: {replica.get('why')}"
    waiting = [f"{name}: {pair['why']}" for name, pair in replica["pairs"].items() if not pair["ready"]]
    return "; ".join(waiting) or None


def is_drained(health: Mapping[str, Any], container_id: str) -> bool:
    """Return whether an operator drained this container."""
    return (find_replica(health, container_id) or {}).get("why") == DRAINED


def redis_error(health: Mapping[str, Any]) -> str | None:
    """Return why the proxy does not reach Redis, or None."""
    redis: Mapping[str, Any] = health.get("redis") or {"up": True}
    return None if redis["up"] else str(redis.get("error"))


def ready_pairs(health: Mapping[str, Any]) -> frozenset[str]:
    """Return the pairs that any server is ready for."""
    return _ready(health.get("replicas", ()))


def pairs_served_alone(health: Mapping[str, Any], container_id: str) -> list[str]:
    """Return the pairs that only this container serves."""
    replica = find_replica(health, container_id)
    own = {pair for pair, each in (replica or {"pairs": {}})["pairs"].items() if each["ready"]}
    others: Sequence[Mapping[str, Any]] = [each for each in health.get("replicas", ()) if each is not replica]
    return sorted(own - _ready(others))


def _ready(replicas: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    return frozenset(
        pair for each in replicas if each["state"] == "ready" for pair, line in each["pairs"].items() if line["ready"]
    )


def _is_silent(replica: Mapping[str, Any]) -> bool:
    return not replica.get("replica_id") and bool(replica.get("why"))
