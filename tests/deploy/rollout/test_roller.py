"""A roll over a fake docker: one test for each promise, the order of its steps, and where it stops."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy.rollout.docker import RollError
from tests.deploy.rollout.fake_docker import container
from tests.deploy.rollout.projects import ALL, FakeProject, containers, fleet, replaced

ONE_PORT = [{"published": "8000"}]


@pytest.fixture
def project(tmp_path: Path) -> FakeProject:
    return FakeProject(tmp_path)


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
        "expect apiserver-de=1",
        "expect apiserver-fr=1",
    ]


def test_changed_setting_of_proxies_touches_them_alone(project: FakeProject) -> None:
    services = fleet(proxies=2)
    services["proxy"]["hash"] = services["redis"]["hash"] = "h2"
    project.write(services, containers(*ALL, "proxy-2"))
    project.roll()
    assert project.changes[:-2] == ["start proxy-3", "stop proxy-1", "start proxy-4", "stop proxy-2"]
    assert "apiserver-de: 1 running, 1 wanted; 0 out of date" in project.lines
    assert "  pairway-proxy-1: its settings changed" in project.lines
    assert any(line.startswith("redis is not rolled. pairway-redis-1: its settings changed") for line in project.lines)


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
    assert f"  pairway-apiserver-de-1: {tmp_path}/mine.yaml changed" in project.lines
    (tmp_path / "mine.yaml").unlink()
    with pytest.raises(RollError, match="there is no catalog"):
        project.roll("apiserver-de")
    assert project.changes == []


def test_roll_stops_at_a_container_that_does_not_start(project: FakeProject) -> None:
    project.write(fleet(de=2), containers(*ALL, "apiserver-de-2", image="old"), broken=["new"])
    with pytest.raises(RollError, match=r"refuses its settings or its catalog .* pairway-apiserver-de-3 was removed"):
        project.roll()
    assert project.changes == ["start apiserver-de-3", "remove apiserver-de-3"]
    assert "  | apiserver: catalog of /pairway-apiserver-de-3 is wrong" in project.lines


def test_roll_continues_where_it_was_broken_off(project: FakeProject) -> None:
    """Two new ones stand beside two old ones, and one has ended."""
    middle = [container(f"apiserver-de-{number}", image="old") for number in (1, 2)]
    ends = [container("apiserver-de-3"), container("apiserver-de-4", state="exited")]
    project.write(fleet(de=2), [*containers("proxy-1", "apiserver-fr-1"), *middle, *ends])
    project.roll()
    assert project.changes[:-2] == [
        "stop apiserver-de-4",
        "stop apiserver-de-1",
        "start apiserver-de-4",
        "stop apiserver-de-2",
    ]


def test_roll_sets_the_scale_and_keeps_the_last_server(project: FakeProject) -> None:
    project.write(fleet(de=3, fr=0), containers("proxy-1", "apiserver-de-1", "apiserver-fr-1"))
    with pytest.raises(RollError, match="is the only server of apiserver-fr"):
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
    assert any("0.5 GiB of memory are free, and one uses 1.0 GiB" in line for line in project.lines)


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


def test_in_place_refuses_to_end_a_pairs_only_server(project: FakeProject) -> None:
    project.write(fleet(), containers(*ALL, image="old"))
    with pytest.raises(RollError, match=r"pairway-apiserver-de-1 is the only server of apiserver-de; --allow"):
        project.roll("apiserver-de", in_place=True)
    assert project.changes == []
    project.roll("apiserver-de", in_place=True, allow_outage=True)
    assert project.changes[:4] == replaced("apiserver-de")


@pytest.mark.parametrize("in_place", [False, True])
def test_no_answer_of_any_proxy_ends_no_server(project: FakeProject, *, in_place: bool) -> None:
    project.write(fleet(), containers(*ALL, image="old"), silent=["old"])
    with pytest.raises(RollError, match="no proxy answers"):
        project.roll("apiserver-de", in_place=in_place, timeout=70)
    assert project.states["apiserver-de-1"] == "running"
    assert "stop apiserver-de-1" not in project.changes
    assert project.now >= 60


def test_proxies_with_keys_stay_while_redis_is_away(project: FakeProject) -> None:
    services = fleet()
    services["proxy"]["environment"]["PROXY_KEYS"] = "on"
    away = {"redis": {"up": False, "error": "connection refused"}}
    project.write(services, containers(*ALL, image="old"), answer=away)
    with pytest.raises(RollError, match=r"Redis is away \(connection refused\), .*docker compose up -d redis"):
        project.roll("proxy")
    assert project.changes == []
    project.roll("proxy", allow_outage=True)
    assert project.changes[:2] == ["start proxy-2", "stop proxy-1"]


def test_only_proxy_serves_again_if_its_successor_fails(project: FakeProject) -> None:
    """It has one port, so it is replaced in place."""
    services = fleet()
    services["proxy"]["ports"] = ONE_PORT
    project.write(services, containers(*ALL, image="old"), broken=["new"])
    with pytest.raises(RollError, match=r"exit code 78.*pairway-proxy-2 was removed"):
        project.roll("proxy")
    assert (project.states["proxy-1"], "proxy-2" in project.states) == ("running", False)
    assert project.changes[-1] == "start proxy-1"
    assert any("COMPOSE_PROFILES=edge" in line for line in project.lines)


def test_interrupt_in_place_starts_the_old_one_again(project: FakeProject) -> None:
    services = fleet()
    services["proxy"]["ports"] = ONE_PORT
    project.write(services, containers(*ALL, image="old"), interrupt="start proxy-2")
    with pytest.raises(KeyboardInterrupt):
        project.roll("proxy")
    assert project.states == dict.fromkeys((*ALL, "redis-1"), "running")
    project.roll("proxy")
    assert project.changes[-6:-2] == replaced("proxy")


def test_new_proxy_sees_the_pairs_that_the_old_one_saw(project: FakeProject) -> None:
    """In place too, where the old one no longer answers."""
    services = fleet()
    for ports in ([{"published": "8000-8019"}], ONE_PORT):
        services["proxy"]["ports"] = ports
        project.write(services, containers(*ALL, image="old"), blind=["new"])
        with pytest.raises(RollError, match=r"not ready after 5 s .*does not see apiserver-de, apiserver-fr rea"):
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
    assert any("warning: pairway-apiserver-fr-1 is up to date and does not" in line for line in project.lines)
    assert any("its engine is dead" in line for line in project.lines)


def test_broken_new_container_is_not_passed_over(project: FakeProject) -> None:
    """Of a roll that was broken off: the old one must not end for it."""
    both = [container("apiserver-de-1", image="old"), container("apiserver-de-2", health="unhealthy")]
    project.write(fleet(), [*containers("proxy-1", "apiserver-fr-1"), *both])
    with pytest.raises(RollError, match=r"de-2 stays, because this roll did not start it"):
        project.roll()
    assert project.changes == []


def test_drained_server_counts_as_ready(project: FakeProject) -> None:
    project.write(fleet(de=2), containers(*ALL, "apiserver-de-2", image="old"), drained=["apiserver-de-3"])
    project.roll("apiserver-de")
    assert project.changes[:2] == ["start apiserver-de-3", "stop apiserver-de-1"]


def test_container_that_is_just_removed_hides_no_other(project: FakeProject) -> None:
    project.write(fleet(), containers(*ALL, "apiserver-de-2"), removed=[container("apiserver-de-2")["Id"]])
    project.roll(dry_run=True)
    assert "apiserver-de: 1 running, 1 wanted; 0 out of date" in project.lines


def test_proxies_are_not_asked_while_docker_waits_for_a_server(project: FakeProject) -> None:
    project.write(fleet(), containers(*ALL, image="old"), health="starting")
    with pytest.raises(RollError, match=r"was not ready after .*Docker finds it starting; .*proxy-1 sees: "):
        project.roll()
    assert project.executions < 5, "memory and proxies before the step, and proxies when it is given up"


def test_dry_run_changes_nothing(project: FakeProject) -> None:
    project.write(fleet(), containers(*ALL, image="old"))
    project.roll(dry_run=True)
    assert project.changes == []
    assert "  pairway-apiserver-de-1: new is another image" in project.lines


def test_what_cannot_be_rolled_changes_nothing(project: FakeProject) -> None:
    project.write(fleet(), containers(*ALL, image="old"), missing=["new"])
    with pytest.raises(RollError, match="there is no image new; build it: docker compose build"):
        project.roll()
    with pytest.raises(RollError, match="redis cannot be rolled; these can: apiserver-de, apiserver-fr, proxy"):
        project.roll("redis")
    assert project.changes == []
    project.write(fleet(), [])
    with pytest.raises(RollError, match="no containers yet; first: docker compose up -d"):
        project.roll()


def test_service_that_no_proxy_knows_is_not_expected(project: FakeProject) -> None:
    """The roll itself is done."""
    project.write(fleet(), containers(*ALL), unnamed=["apiserver-fr"])
    project.roll()
    assert project.changes == ["expect apiserver-de=1"]
    assert any(line.startswith("not set: ") and line.endswith("expect apiserver-fr=1") for line in project.lines)


def test_hash_that_compose_reports_otherwise_ends_the_roll(project: FakeProject) -> None:
    """With env_file in an override, `config --hash` differs from the label: new containers count as up to date."""
    services = fleet()
    services["apiserver-de"]["hash"] = "reported"
    project.write(services, containers(*ALL))
    project.roll("apiserver-de")
    assert project.changes[:2] == ["start apiserver-de-2", "stop apiserver-de-1"]
