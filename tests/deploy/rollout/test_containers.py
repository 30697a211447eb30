"""Services and containers, as docker describes them, and which containers are out of date."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from deploy.rollout.containers import Kind, Service, mounted_file, parse_container, parse_service, port_count
from tests.deploy.rollout.fake_docker import container, service

MOUNT = {"type": "bind", "source": "/srv/mine", "target": "/models"}


def parsed(name: str, **more: Any) -> Service:
    return parse_service(name, service(name, **more), "h1", "sha256:new", lambda _: 0.0)


def test_kinds_follow_the_settings_a_service_gets() -> None:
    kinds = {name: parsed(name).kind for name in ("proxy", "apiserver-es", "redis")}
    assert kinds == {"proxy": Kind.PROXY, "apiserver-es": Kind.API_SERVER, "redis": Kind.OTHER}


def test_minimal_service_has_defaults() -> None:
    bare = parse_service("redis", {"image": "redis:7", "environment": None, "deploy": None}, "h", None, lambda _: 1.0)
    assert (bare.replicas, bare.catalog, bare.ports, bare.has_device) == (1, None, (), False)


def test_no_replicas_are_no_replicas() -> None:
    assert parsed("apiserver-fr", replicas=0).replicas == 0


@pytest.mark.parametrize(("published", "count"), [("8000", 1), ("8000-8019", 20), ("0", 1)])
def test_port_count_of_a_range(published: str, count: int) -> None:
    assert port_count(published) == count


@pytest.mark.parametrize(
    ("published", "replicas", "can"), [("8000", 1, False), ("8000-8001", 1, True), ("8000-8001", 2, False)]
)
def test_one_more_container_needs_one_more_port(published: str, replicas: int, can: bool) -> None:
    assert parsed("proxy", replicas=replicas, ports=[{"published": published}]).can_double is can


def test_catalog_of_the_image_is_no_file_of_the_host() -> None:
    assert mounted_file("deploy/models/demo.yaml", [MOUNT]) is None
    assert mounted_file("/modelsx/mine.yaml", [MOUNT]) is None
    assert mounted_file("/models/sub/mine.yaml", [{"type": "volume", "target": "/models"}]) is None
    assert mounted_file("/models/sub/mine.yaml", [MOUNT]) == Path("/srv/mine/sub/mine.yaml")


def test_container_is_read_from_inspect() -> None:
    found = parse_container(container("apiserver-de-12"))
    assert (found.service, found.number, found.name) == ("apiserver-de", 12, "pairway-apiserver-de-12")
    assert (found.state, found.health, found.is_running) == ("running", "healthy", True)
    assert found.started_at == 1795341600.0, "2026-11-22 10:00 UTC"


def test_container_without_a_health_check_is_read() -> None:
    inspected = container("redis-1")
    del inspected["State"]["Health"]
    inspected["State"]["StartedAt"] = "0001-01-01T00:00:00Z"
    assert parse_container(inspected).health == ""


@pytest.mark.parametrize("state", ["exited", "created", "dead", "removing"])
def test_container_that_ended_is_not_running(state: str) -> None:
    assert not parse_container(container("proxy-1", state=state)).is_running


def test_container_is_stale_by_image_settings_or_catalog() -> None:
    config = service("apiserver-de", environment={"APISERVER_CATALOG": "/models/a.yaml"}, volumes=[MOUNT])
    wanted = parse_service("apiserver-de", config, "h1", "sha256:new", lambda _: 0.0)
    assert parse_container(container("apiserver-de-1")).why_stale(wanted) is None
    assert parse_container(container("apiserver-de-1", image="old")).why_stale(wanted) == "new is another image"
    assert parse_container(container("apiserver-de-1", config_hash="h0")).why_stale(wanted) == "its settings changed"
    changed = parse_service("apiserver-de", config, "h1", "sha256:new", lambda _: 4e9)
    assert parse_container(container("apiserver-de-1")).why_stale(changed) == "/srv/mine/a.yaml changed"
