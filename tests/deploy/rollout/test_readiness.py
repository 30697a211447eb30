"""Why a container does not serve, as the proxies see it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from deploy.rollout.readiness import NO_ANSWER, Readiness
from tests.deploy.rollout.fake_docker import container
from tests.deploy.rollout.projects import ALL, FakeProject, containers, fleet


def why_not(folder: Path, name: str, present: list[dict[str, Any]], **more: Any) -> str | None:
    fake = FakeProject(folder)
    fake.write(fleet(), present, **more)
    project = fake.docker.read_project()
    found = next(each for each in project.containers if each.name == f"pairway-{name}")
    service = next(each for each in project.services if each.name == found.service)
    return Readiness(fake.docker).why_not(found, service, project)


def test_all_serve(tmp_path: Path) -> None:
    for name in ALL:
        assert why_not(tmp_path, name, containers(*ALL)) is None


def test_server_waits_for_docker_and_every_proxy(tmp_path: Path) -> None:
    starting = [container("proxy-1"), container("apiserver-de-1", health="starting")]
    assert why_not(tmp_path, "apiserver-de-1", starting) == "Docker finds it starting; starting: its engine is dead"
    present = [*containers("proxy-1", "apiserver-de-1"), container("proxy-2", image="old")]
    seen = why_not(tmp_path, "apiserver-de-1", present, blind=["old"])
    assert seen == "pairway-proxy-2 sees: it is not among the servers that answer"
    assert why_not(tmp_path, "apiserver-de-1", containers(*ALL), silent=["new"]) == NO_ANSWER


def test_proxy_waits_for_its_own_answer(tmp_path: Path) -> None:
    assert why_not(tmp_path, "proxy-1", containers(*ALL), silent=["new"]) == "it does not answer"
    assert why_not(tmp_path, "proxy-1", containers(*ALL), answer={"accepts": False}) == "its /readyz is not 200"
    assert why_not(tmp_path, "proxy-1", [container("proxy-1", state="exited")]) == "it is exited"


def test_first_proxy_waits_for_no_pair(tmp_path: Path) -> None:
    assert why_not(tmp_path, "proxy-1", containers("proxy-1"), blind=["new"]) is None
