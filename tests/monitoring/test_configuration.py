"""The configuration of Prometheus and Alertmanager: valid, and a fault makes one message that says what it means."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
import yaml

from tests.monitoring.alertmanager import running_alertmanager
from tests.monitoring.install import program
from tests.monitoring.rules import FOLDER, Rule, alerts
from tests.support.waiting import wait_until

pytestmark = pytest.mark.monitoring

PROMETHEUS: Final = FOLDER.parent / "prometheus.yml"
ALERTMANAGER: Final = FOLDER.parent / "alertmanager.yml"
START: Final = FOLDER.parent / "start.sh"
# Where start.sh writes the tokens.
TOKENS: Final = "/run/pairway"
SECONDS: Final = 60.0
ALERTS: Final = {alert.name: alert for alert in alerts()}
PAIR, OTHER = {"pair": "en>de"}, {"pair": "en>fr"}
SERVER: Final = {"instance": "10.0.0.5:8001", "job": "pairway-apiserver"}
PROXY: Final = {"instance": "10.0.0.6:8000", "job": "pairway-proxy"}
SERVICE: Final = {"service": "apiserver-de"}

# What fires after a fault, each with its labels, and what of it is held back.
Firing = list[tuple[str, Mapping[str, str]]]
FAULTS: Final[Mapping[str, tuple[Firing, set[str]]]] = {
    "one of two servers is killed": (
        [("PairWithoutSpare", PAIR), ("ReplicaDown", {}), ("NotScraped", SERVER), ("ReplicasMissing", SERVICE)],
        {"ReplicaDown", "NotScraped", "ReplicasMissing"},
    ),
    "the last server of a pair is killed": (
        [
            ("PairUnavailable", PAIR),
            ("PairWithoutSpare", PAIR),
            ("ReplicaDown", {}),
            ("NotScraped", SERVER),
            ("ReplicasMissing", SERVICE),
            ("ErrorBudgetFastBurn", {}),
        ],
        {"PairWithoutSpare", "ReplicaDown", "NotScraped", "ReplicasMissing", "ErrorBudgetFastBurn"},
    ),
    "another pair loses its spare": ([("PairUnavailable", PAIR), ("PairWithoutSpare", OTHER)], set()),
    "a server without pairs of its own is killed": (
        [("ReplicaDown", {}), ("NotScraped", SERVER), ("ReplicasMissing", SERVICE)],
        set(),
    ),
    "an engine dies and a proxy is cut off": (
        [("PairUnavailable", PAIR), ("EngineDied", SERVER), ("NotScraped", PROXY)],
        set(),
    ),
    "Redis ends where keys need it": ([("RedisAway", {}), ("KeysUnavailable", {})], {"RedisAway"}),
    "nothing is scraped": (
        [("NothingScraped", {}), ("NotScraped", SERVER), ("NotScraped", PROXY), ("Watchdog", {})],
        {"NotScraped"},
    ),
}


def run(*command: str, environment: Mapping[str, str] | None = None) -> str:
    """Run a command; fail with what it says."""
    done = subprocess.run(
        command,
        check=False,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=SECONDS,
        env={**os.environ, **(environment or {})},
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_prometheus_accepts_its_configuration_and_rules(tmp_path: Path) -> None:
    for name in ("observer-token", "apiserver-token"):
        (tmp_path / name).write_text("x" * 16)
    (tmp_path / "rules").symlink_to(FOLDER)
    copy = tmp_path / PROMETHEUS.name
    copy.write_text(PROMETHEUS.read_text().replace(TOKENS, str(tmp_path)))
    assert f"SUCCESS: {len(list(FOLDER.iterdir()))} rule files found" in run(
        str(program("promtool")), "check", "config", str(copy)
    )


def test_prometheus_has_the_jobs_and_times_of_the_rules() -> None:
    config = yaml.safe_load(PROMETHEUS.read_text())
    assert set(config["global"].values()) == {"15s"}
    jobs = {job["job_name"] for job in config["scrape_configs"]}
    named = {name for alert in alerts() for name in re.findall(r'job="([^"]+)"', alert.expression)}
    assert named <= jobs == {SERVER["job"], PROXY["job"]}


def test_start_writes_the_tokens_as_files_of_its_user(tmp_path: Path) -> None:
    """A fake Prometheus prints its environment and arguments: no token is in either."""
    fake = tmp_path / "prometheus"
    fake.write_text('#!/bin/sh\nenv\necho "$@"\n')
    fake.chmod(0o700)
    script = tmp_path / START.name
    script.write_text(START.read_text().replace(TOKENS, str(tmp_path)))
    tokens = {"PROXY_OBSERVER_TOKEN": "a-token-that-observes", "APISERVER_TOKEN": ""}
    said = run("sh", str(script), environment={**tokens, "PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert "--config.file=/etc/pairway/prometheus.yml" in said
    assert "a-token" not in said
    assert (tmp_path / "observer-token").read_text() == "a-token-that-observes"
    assert (tmp_path / "observer-token").stat().st_mode & 0o777 == 0o600
    assert not (tmp_path / "apiserver-token").read_text()


def test_alertmanager_accepts_its_configuration() -> None:
    assert "SUCCESS" in run(str(program("amtool")), "check-config", str(ALERTMANAGER))


@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: alert.name)
def test_severity_decides_the_receiver(alert: Rule) -> None:
    labels = (f"alertname={alert.name}", f"severity={alert.severity}")
    said = run(str(program("amtool")), "config", "routes", "test", f"--config.file={ALERTMANAGER}", *labels)
    receivers = {"critical": "at-once", "warning": "today", "info": "by-day", "none": "watchdog"}
    assert receivers[alert.severity] in said.splitlines()


def _matched(matchers: list[str]) -> set[str]:
    """Return the alerts that matchers name one by one."""
    found = (re.search(r'alertname=~?"([^"]+)"', each) for each in matchers)
    return {name for each in found if each is not None for name in each[1].split("|")}


def test_every_alert_that_a_rule_names_exists() -> None:
    config = yaml.safe_load(ALERTMANAGER.read_text())
    inhibitions: list[dict[str, list[str]]] = config["inhibit_rules"]
    lists = [each[side] for each in inhibitions for side in ("source_matchers", "target_matchers")]
    lists += [route["matchers"] for route in config["route"]["routes"]]
    assert {name for matchers in lists for name in _matched(matchers)} <= ALERTS.keys()


def test_consequences_wait_until_their_cause_has_fired() -> None:
    """What PairWithoutSpare holds back fires before it, and is told only later than it."""
    config = yaml.safe_load(ALERTMANAGER.read_text())
    (waiting,) = [route for route in config["route"]["routes"] if "ReplicaDown" in _matched(route["matchers"])]
    cause = _minutes(ALERTS["PairWithoutSpare"].fields["for"])
    held = {
        name
        for each in config["inhibit_rules"]
        if "PairWithoutSpare" in _matched(each["source_matchers"])
        for name in _matched(each["target_matchers"])
    }
    assert held == _matched(waiting["matchers"])
    assert all(_minutes(ALERTS[name].fields["for"]) + _minutes(waiting["group_wait"]) > cause for name in held)


def _minutes(duration: str) -> float:
    return int(duration[:-1]) * {"s": 1 / 60, "m": 1}[duration[-1]]


@pytest.fixture
async def alertmanager(tmp_path: Path) -> AsyncGenerator[httpx.AsyncClient]:
    """Run Alertmanager with our configuration; yield a client of its API."""
    async with running_alertmanager(tmp_path, ALERTMANAGER) as client:
        yield client


@pytest.mark.parametrize("fault", FAULTS)
async def test_consequences_are_held_back(alertmanager: httpx.AsyncClient, fault: str) -> None:
    firing, held = FAULTS[fault]
    sent = [
        {"labels": {"alertname": name, "severity": ALERTS[name].severity, **labels}}
        for name, labels in reversed(firing)
    ]
    assert (await alertmanager.post("/api/v2/alerts", json=sent)).status_code == 200

    async def settled() -> bool:
        found: list[dict[str, Any]] = (await alertmanager.get("/api/v2/alerts")).json()
        assert len(found) == len(firing)
        return {each["labels"]["alertname"] for each in found if each["status"]["inhibitedBy"]} == held

    await wait_until(settled, SECONDS, f"{fault}: {held} held back, and nothing else")
