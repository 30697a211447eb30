"""The next step: never fewer servers than asked for, whatever state a roll begins in."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from deploy.rollout.containers import Container, Service, parse_container, parse_service
from deploy.rollout.next_step import MAX_RESTARTS, Action, next_step, why_failed
from tests.deploy.rollout.fake_docker import container, service


def wanted(replicas: int) -> Service:
    return parse_service("proxy", service("proxy", replicas=replicas), "h1", "sha256:new", lambda _: 0.0)


def one(number: int, image: str = "new", **more: str) -> Container:
    return parse_container(container(f"proxy-{number}", image=image, **more))


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("counts", list(itertools.product(range(4), range(4), range(4))), ids=str)
def test_every_roll_ends_and_keeps_its_capacity(counts: tuple[int, int, int], *, in_place: bool) -> None:
    """From any number of fresh and stale containers to any scale."""
    fresh_count, stale_count, replicas = counts
    fresh = [one(number) for number in range(1, fresh_count + 1)]
    stale = [one(number, "old") for number in range(10, 10 + stale_count)]
    least = min(fresh_count + stale_count, replicas) - (1 if in_place else 0)
    ready = {each.id for each in fresh}
    for number in range(100, 150):
        step = next_step(
            wanted(replicas), fresh + stale, fresh_ids={each.id for each in fresh}, ready_ids=ready, in_place=in_place
        )
        match step.action, step.container:
            case Action.DONE, _:
                break
            case Action.START, _:
                fresh.append(one(number))
            case Action.WAIT, Container() as waiting:
                assert waiting.id not in ready
                ready.add(waiting.id)
            case _, Container() as ended:
                (fresh if ended in fresh else stale).remove(ended)
            case _:
                pytest.fail(f"{step} has no container")
        assert len(fresh) + len(stale) <= max(replicas + 1, fresh_count + stale_count)
        assert len([each for each in fresh if each.id in ready]) + len(stale) >= least
    assert (len(fresh), stale, {each.id for each in fresh} <= ready) == (replicas, [], True)


def test_unhealthy_old_ones_end_first() -> None:
    sick = one(2, "old", health="unhealthy")
    step = next_step(wanted(1), [one(1, "old"), sick], fresh_ids=(), ready_ids=(), in_place=False)
    assert step.container == sick


def test_ended_containers_go_first() -> None:
    """docker compose up would start them again."""
    ended = one(3, state="exited")
    step = next_step(wanted(1), [one(1, "old"), ended], fresh_ids={ended.id}, ready_ids=(), in_place=False)
    assert (step.action, step.container) == (Action.STOP, ended)


def failed(inspected: dict[str, Any], waited: float) -> str | None:
    return why_failed(parse_container(inspected), waited=waited, timeout=60, restarts_before=0)


def test_restarts_of_past_weeks_are_no_failure() -> None:
    inspected = container("proxy-1")
    inspected["RestartCount"] = 5 + MAX_RESTARTS
    assert why_failed(parse_container(inspected), waited=1, timeout=60, restarts_before=6) is None
    assert "ended 3 times" in str(why_failed(parse_container(inspected), waited=1, timeout=60, restarts_before=5))


def test_why_failed_gives_up_what_cannot_start() -> None:
    inspected = container("proxy-1", state="restarting")
    assert failed(inspected, 1) is None, "it may be back"
    inspected["State"]["ExitCode"] = 78
    assert "exit code 78" in str(failed(inspected, 1))
    inspected["State"] |= {"Status": "running", "ExitCode": 0}
    assert failed(inspected, 1) is None
    assert failed(inspected, 61) == "it was not ready after 60 s"
    inspected["RestartCount"] = MAX_RESTARTS
    assert failed(inspected, 1) == "it ended 3 times"
    assert failed(container("proxy-1", state="exited"), 1) == "it ended with exit code 0"
