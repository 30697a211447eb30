"""OutageGuard, through a roll: it ends no pair's only server, and keeps known keys."""

from __future__ import annotations

import pytest

from deploy.rollout.roller import RollStoppedError
from tests.deploy.rollout.projects import ALL, FakeProject, containers, fleet, replaced


def test_in_place_refuses_to_end_a_pairs_only_server(project: FakeProject) -> None:
    project.write(fleet(), containers(*ALL, image="old"))
    with pytest.raises(RollStoppedError, match=r"pairway-apiserver-de-1 is the only server of apiserver-de, .*--allow"):
        project.roll("apiserver-de", in_place=True)
    assert project.changes == []
    project.roll("apiserver-de", in_place=True, allow_outage=True)
    assert project.changes[:4] == replaced("apiserver-de")


def test_scale_of_none_needs_no_memory(project: FakeProject) -> None:
    project.write(fleet(fr=0), containers(*ALL))
    with pytest.raises(RollStoppedError, match="--allow-outage") as caught:
        project.roll()
    assert "--in-place" not in str(caught.value)


@pytest.mark.parametrize("in_place", [False, True])
def test_no_answer_of_any_proxy_ends_no_server(project: FakeProject, *, in_place: bool) -> None:
    project.write(fleet(), containers(*ALL, image="old"), silent=["old"])
    with pytest.raises(RollStoppedError, match="no proxy answers"):
        project.roll("apiserver-de", in_place=in_place, timeout=70)
    assert project.states["apiserver-de-1"] == "running"
    assert "stop apiserver-de-1" not in project.changes
    assert project.now >= 60


def test_proxies_with_keys_stay_while_redis_is_away(project: FakeProject) -> None:
    services = fleet()
    away = {"redis": {"up": False, "error": "connection refused"}}
    project.write(services, containers(*ALL, image="old"), answer=away)
    project.roll("apiserver-de")
    services["proxy"]["environment"]["PROXY_KEYS"] = "on"
    project.write(services, containers(*ALL, image="old"), answer=away)
    with pytest.raises(RollStoppedError, match=r"Redis is away \(connection refused\), .*docker compose up -d redis"):
        project.roll("proxy")
    assert project.changes == []
    project.roll("proxy", allow_outage=True)
    assert project.changes[:2] == ["start proxy-2", "stop proxy-1"]
