"""The expected replicas that a roll sets."""

from __future__ import annotations

from tests.deploy.rollout.projects import ALL, FakeProject, containers, fleet


def test_expected_capacity_may_be_away(project: FakeProject) -> None:
    """Redis is down: the roll itself is done."""
    project.write(fleet(), containers(*ALL), expect=69)
    project.roll()
    assert any("expected replicas were not set; do it later" in line for line in project.lines)


def test_service_that_no_proxy_knows_is_not_expected(project: FakeProject) -> None:
    project.write(fleet(), containers(*ALL), unnamed=["apiserver-fr"])
    project.roll()
    assert project.changes == ["expect apiserver-de=1"]
    assert "apiserver-fr: no expected replicas, because PROXY_REPLICAS does not name it" in project.lines
