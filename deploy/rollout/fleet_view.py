"""What a proxy sees of the API servers, in its ``/health``; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

# A container's host name is the start of its id, and a replica's id starts with the host name.
HOST_NAME_CHARS = 12
# A program for the proxy's container that prints its /health.
READ_HEALTH = (
    "import http.client as h; c = h.HTTPConnection('127.0.0.1', 8000, timeout=4); "
    "c.request('GET', '/health'); print(c.getresponse().read().decode())"
)


def find_replica(health: Mapping[str, Any], container_id: str) -> Mapping[str, Any] | None:
    """Return a container's line, or None."""
    host_name = container_id[:HOST_NAME_CHARS]
    for replica in health.get("replicas", ()):
        if str(replica.get("replica_id") or "").startswith(host_name):
            return replica
    return None


def is_served(health: Mapping[str, Any], container_id: str) -> bool:
    """Return whether the proxy sends all pairs of this container requests."""
    replica = find_replica(health, container_id)
    if replica is None or replica["state"] != "ready":
        return False
    return all(pair["ready"] for pair in replica["pairs"].values())


def pairs_served_alone(health: Mapping[str, Any], container_id: str) -> list[str]:
    """Return the pairs that only this container serves."""
    replica = find_replica(health, container_id)
    own = {pair for pair, each in (replica or {"pairs": {}})["pairs"].items() if each["ready"]}
    others: Sequence[Mapping[str, Any]] = [each for each in health.get("replicas", ()) if each is not replica]
    served = {
        pair for each in others if each["state"] == "ready" for pair, line in each["pairs"].items() if line["ready"]
    }
    return sorted(own - served)
