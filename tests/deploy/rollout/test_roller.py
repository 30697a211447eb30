"""A roll over a fake docker: the order of its steps, and where it stops."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy.rollout.roller import RollStoppedError
from tests.deploy.rollout.fake_docker import container
from tests.deploy.rollout.projects import ALL, FakeProject, containers, fleet, replaced

ONE_PORT = [{"published": "8000"}]


def test_new_image_rolls_api_servers_then_proxies(project: FakeProject) -> None:
    project.write(fleet(), containers(*ALL, image="old"))
    project.roll()
    assert project.changes == [
        "start apiserver-de-2",
        "stop apiserver-de-1",
        "start apiserver-fr-2",
        "stop apiserver-fr-1",
        "start proxy-2",
        "stop proxy-1",
        "expect apiserver-de=1 apiserver-fr=1",
    ]


def test_changed_setting_of_proxies_touches_them_alone(project: FakeProject) -> None:
    services = fleet(proxies=2)
    services["proxy"]["hash"] = "h2"
    project.write(services, containers(*ALL, "proxy-2"))
    project.roll()
    assert project.changes[:-1] == ["start proxy-3", "stop proxy-1", "start proxy-4", "stop proxy-2"]
    assert "apiserver-de: up to date, 1 of 1" in project.lines
    assert any("its settings changed" in line for line in project.lines)


def test_changed_catalog_rolls_its_server(project: FakeProject, tmp_path: Path) -> None:
    """The file is newer than the containers."""
    (tmp_path / "mine.yaml").write_text("models: {}")
    services = fleet()
    services["apiserver-de"] |= {
        "environment": {"APISERVER_HOST": "0.0.0.0", "APISERVER_CATALOG": "/models/mine.yaml"},
        "volumes": [{"type": "bind", "source": str(tmp_path), "target": "/models"}],
    }
    project.write(services, containers(*ALL))
    project.roll("apiserver-de", dry_run=True)
    assert any(f"{tmp_path}/mine.yaml changed" in line for line in project.lines)
    (tmp_path / "mine.yaml").unlink()
    with pytest.raises(RollStoppedError, match="there is no catalog"):
        project.roll("apiserver-de")
    assert project.changes == []


def test_roll_stops_at_a_container_that_does_not_start(project: FakeProject) -> None:
    project.write(fleet(de=2), containers(*ALL, "apiserver-de-2", image="old"), broken=["new"])
    with pytest.raises(
        RollStoppedError, match=r"refuses its settings or its catalog .* Running: pairway-apiserver-de-1"
    ):
        project.roll()
    assert project.changes == ["start apiserver-de-3", "remove apiserver-de-3"]
    assert "  | apiserver: catalog of /pairway-apiserver-de-3 is wrong" in project.lines


def test_roll_continues_where_it_was_broken_off(project: FakeProject) -> None:
    """Two new ones stand beside two old ones, and one has ended."""
    project.write(
        fleet(de=2),
        [
            *containers("proxy-1", "apiserver-fr-1"),
            container("apiserver-de-1", image="old"),
            container("apiserver-de-2", image="old"),
            container("apiserver-de-3"),
            container("apiserver-de-4", state="exited"),
        ],
    )
    project.roll()
    assert project.changes[:-1] == [
        "stop apiserver-de-4",
        "stop apiserver-de-1",
        "start apiserver-de-4",
        "stop apiserver-de-2",
    ]


def test_roll_restores_missing_containers_and_the_scale(project: FakeProject) -> None:
    project.write(fleet(de=3, fr=0), containers("proxy-1", "apiserver-de-1", "apiserver-fr-1"))
    with pytest.raises(RollStoppedError, match="is the only server of apiserver-fr"):
        project.roll()
    project.roll(allow_outage=True)
    assert project.changes[:3] == ["start apiserver-de-2", "start apiserver-de-3", "stop apiserver-fr-1"]


def test_short_memory_rolls_one_after_the_other(project: FakeProject) -> None:
    project.write(fleet(de=2), containers(*ALL, "apiserver-de-2", image="old"), available_kb=500_000)
    project.roll("apiserver-de")
    assert project.changes[:8] == [
        "create apiserver-de-3",
        "stop apiserver-de-1",
        "start apiserver-de-3",
        "remove apiserver-de-1",
        "create apiserver-de-4",
        "stop apiserver-de-2",
        "start apiserver-de-4",
        "remove apiserver-de-2",
    ]
    assert any("0.5 GiB of memory are available, and one uses 1.0 GiB" in line for line in project.lines)


def test_gpu_services_roll_in_place(project: FakeProject) -> None:
    """Two of them serve the same pairs; a copy would share the GPU."""
    services = fleet()
    devices = [{"driver": "nvidia", "device_ids": ["0"]}]
    for name in ("apiserver-de", "apiserver-fr"):
        services[name]["deploy"]["resources"] = {"reservations": {"devices": devices}}
    pairs = {"apiserver-de": ["en-de"], "apiserver-fr": ["en-de"]}
    project.write(services, containers(*ALL, image="old"), pairs=pairs)
    project.roll()
    assert project.changes[:4] == replaced("apiserver-de")
    assert any("its GPU has memory for one engine" in line for line in project.lines)


def test_proxy_with_one_port_is_replaced_in_place(project: FakeProject) -> None:
    services = fleet()
    services["proxy"]["ports"] = ONE_PORT
    project.write(services, containers(*ALL, image="old"))
    project.roll("proxy")
    assert project.changes[:4] == replaced("proxy")
    assert any("COMPOSE_PROFILES=edge avoids that" in line for line in project.lines)


def test_only_proxy_serves_again_if_its_successor_fails(project: FakeProject) -> None:
    services = fleet()
    services["proxy"]["ports"] = ONE_PORT
    project.write(services, containers(*ALL, image="old"), broken=["new"])
    with pytest.raises(RollStoppedError, match=r"exit code 78.*pairway-proxy-2 was removed. Running: pairway-proxy-1"):
        project.roll("proxy")
    assert project.states["proxy-1"] == "running"
    assert "proxy-2" not in project.states
    assert project.changes[-1] == "start proxy-1"


def test_only_api_server_serves_again_if_its_successor_fails(project: FakeProject) -> None:
    project.write(fleet(), containers(*ALL, image="old"), broken=["new"])
    with pytest.raises(RollStoppedError, match=r"pairway-apiserver-de-2 was removed. Running: pairway-apiserver-de-1"):
        project.roll("apiserver-de", in_place=True, allow_outage=True)
    assert project.states["apiserver-de-1"] == "running"


def test_interrupt_in_place_starts_the_old_one_again(project: FakeProject) -> None:
    services = fleet()
    services["proxy"]["ports"] = ONE_PORT
    project.write(services, containers(*ALL, image="old"), interrupt="start proxy-2")
    with pytest.raises(KeyboardInterrupt):
        project.roll("proxy")
    assert project.states == dict.fromkeys((*ALL, "redis-1"), "running")


def test_new_proxy_sees_the_pairs_that_the_old_one_saw(project: FakeProject) -> None:
    """In place too, where the old one no longer answers."""
    services = fleet()
    for ports in ([{"published": "8000-8019"}], ONE_PORT):
        services["proxy"]["ports"] = ports
        project.write(services, containers(*ALL, image="old"), blind=["new"])
        with pytest.raises(
            RollStoppedError, match=r"not ready after 5 s .*does not see apiserver-de, apiserver-fr rea"
        ):
            project.roll("proxy", timeout=5)
        assert project.states["proxy-1"] == "running"


def test_broken_server_delays_no_proxy(project: FakeProject) -> None:
    """Docker finds no proxy healthy that misses a pair; one of the servers, up to date, has a dead engine."""
    services = fleet()
    services["proxy"]["hash"] = "h2"
    services["proxy"]["ports"] = ONE_PORT
    everything = [container(ALL[0]), container(ALL[1]), container(ALL[2], health="unhealthy")]
    project.write(services, [*everything, container("redis-1", image="redis:7")], health="starting")
    project.roll()
    assert project.changes[:4] == replaced("proxy")
    assert any("warning: pairway-apiserver-fr-1 failed: it was not ready after 0 s" in line for line in project.lines)
    assert any("its engine is dead" in line for line in project.lines)


def test_broken_new_container_is_not_passed_over(project: FakeProject) -> None:
    """Of a roll that was broken off: the old one must not end for it."""
    both = [container("apiserver-de-1", image="old"), container("apiserver-de-2", health="unhealthy")]
    project.write(fleet(), [*containers("proxy-1", "apiserver-fr-1"), *both])
    with pytest.raises(RollStoppedError, match=r"de-2 stays, because this roll did not start it. Running: .*-1, .*-2"):
        project.roll()
    assert project.changes == []


def test_drained_server_counts_as_ready(project: FakeProject) -> None:
    project.write(fleet(de=2), containers(*ALL, "apiserver-de-2", image="old"), drained=["apiserver-de-3"])
    project.roll("apiserver-de")
    assert any(line.endswith("drained by an operator: it gets no requests") for line in project.lines)


def test_dry_run_changes_nothing(project: FakeProject) -> None:
    project.write(fleet(), containers(*ALL, image="old"))
    project.roll(dry_run=True)
    assert project.changes == []
    assert "  pairway-apiserver-de-1: new is another image" in project.lines


def test_missing_image_changes_nothing(project: FakeProject) -> None:
    project.write(fleet(), containers(*ALL, image="old"), missing=["new"])
    with pytest.raises(RollStoppedError, match="there is no image new; build it: docker compose build"):
        project.roll()
    assert project.changes == []


def test_unknown_service_is_refused_with_the_known(project: FakeProject) -> None:
    project.write(fleet(), containers(*ALL))
    with pytest.raises(RollStoppedError, match="redis cannot be rolled; these can: apiserver-de, apiserver-fr, proxy"):
        project.roll("redis")


def test_up_to_date_project_stays_as_it_is(project: FakeProject) -> None:
    project.write(fleet(), containers(*ALL))
    project.roll()
    assert project.changes == ["expect apiserver-de=1 apiserver-fr=1"]


def test_empty_project_is_started_first(project: FakeProject) -> None:
    project.write(fleet(), [])
    with pytest.raises(RollStoppedError, match="no containers yet; first: docker compose up -d"):
        project.roll()
    assert project.changes == []


def test_single_services_are_named_and_not_rolled(project: FakeProject) -> None:
    services = fleet()
    services["redis"]["hash"] = "h2"
    project.write(services, containers(*ALL))
    project.roll()
    assert any(line.startswith("redis: out of date (its settings changed), and not rolled") for line in project.lines)


def test_hash_that_compose_reports_otherwise_ends_the_roll(project: FakeProject) -> None:
    """With env_file in an override, `config --hash` differs from the label: new containers count as up to date."""
    project.write(fleet(), containers(*ALL, config_hash="label"))
    state = project.state
    state["services"]["apiserver-de"]["hash"] = "reported"
    project.write(state["services"], containers(*ALL))
    project.roll("apiserver-de")
    assert project.changes[:2] == ["start apiserver-de-2", "stop apiserver-de-1"]
