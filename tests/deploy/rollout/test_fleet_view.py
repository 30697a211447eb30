"""What the proxies see: which container serves, and which one serves a pair alone."""

from __future__ import annotations

from typing import Any

from deploy.rollout import fleet_view

ONE, OTHER = "a" * 64, "b" * 64


def line(container_id: str, *ready: str, state: str = "ready", waiting: tuple[str, ...] = ()) -> dict[str, Any]:
    pairs = {pair: {"ready": pair in ready, "why": None} for pair in (*ready, *waiting)}
    return {"replica_id": f"{container_id[:12]}-0123456789ab", "state": state, "pairs": pairs}


def test_served_is_ready_with_all_pairs() -> None:
    assert fleet_view.is_served({"replicas": [line(OTHER, "en-de"), line(ONE, "en-de")]}, ONE)
    assert not fleet_view.is_served({"replicas": [line(OTHER, "en-de")]}, ONE)
    assert not fleet_view.is_served({"replicas": [line(ONE, "en-de", state="draining")]}, ONE)
    assert not fleet_view.is_served({"replicas": [line(ONE, "en-de", waiting=("de-en",))]}, ONE)
    assert not fleet_view.is_served({"replicas": [{"replica_id": None, "state": "down", "pairs": {}}]}, ONE)
    assert not fleet_view.is_served({}, ONE)


def test_pairs_served_alone_are_those_no_other_is_ready_for() -> None:
    replicas = [
        line(ONE, "en-de", "de-en", "en-fr", waiting=("fr-en",)),
        line(OTHER, "en-de", waiting=("de-en",)),
        line("c" * 64, "en-fr", state="draining"),
    ]
    assert fleet_view.pairs_served_alone({"replicas": replicas}, ONE) == ["de-en", "en-fr"]
    assert fleet_view.pairs_served_alone({"replicas": replicas}, OTHER) == []
    assert fleet_view.pairs_served_alone({"replicas": replicas}, "d" * 64) == []


def test_program_for_the_container_is_python() -> None:
    compile(fleet_view.READ_HEALTH, "health", "exec")
