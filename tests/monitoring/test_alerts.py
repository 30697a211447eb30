"""Each alert fires where it should, and stays quiet where it should, in Prometheus' own evaluation."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.monitoring.alert_case import AlertCase
from tests.monitoring.alert_cases import ALWAYS, BRANCHES, CASES
from tests.monitoring.install import program
from tests.monitoring.rules import FILES, Rule, alerts

pytestmark = pytest.mark.monitoring

# Seconds; the days of the long windows take most.
PROMTOOL_SECONDS: Final = 120.0


def promtool(*arguments: str) -> None:
    """Run promtool; fail with what it says."""
    command = [program("promtool"), *arguments]
    done = subprocess.run(
        command, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PROMTOOL_SECONDS
    )
    assert done.returncode == 0, done.stdout


def test_rules_are_valid() -> None:
    promtool("check", "rules", *map(str, FILES))


def test_each_alert_has_a_case_of_both_kinds() -> None:
    assert CASES.keys() == {alert.name for alert in alerts()}
    assert {name for name, case in CASES.items() if not case.quiet} == ALWAYS


def _series(series: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"series": name, "values": values} for name, values in series.items()]


def _tests_of(alert: Rule, case: AlertCase) -> list[dict[str, Any]]:
    annotations = {**alert.annotations, "summary": case.summary}
    expected = [{"exp_labels": dict(case.labels), "exp_annotations": annotations}]
    kinds = [("fires", case.fires, expected)]
    if case.quiet:
        kinds.append(("stays quiet", case.quiet, []))
    return [
        {
            "name": f"{alert.name} {kind}",
            "interval": case.step,
            "input_series": _series(series),
            "alert_rule_test": [{"eval_time": case.at, "alertname": alert.name, "exp_alerts": found}],
        }
        for kind, series, found in kinds
    ]


@pytest.mark.parametrize("step", ["15s", "5m"])
def test_alerts_fire_and_stay_quiet(step: str, tmp_path: Path) -> None:
    by_name = {alert.name: alert for alert in alerts()}
    cases = (*CASES.items(), *BRANCHES)
    tests = [test for name, case in cases if case.step == step for test in _tests_of(by_name[name], case)]
    assert tests
    path = tmp_path / "alerts.test.yaml"
    path.write_text(
        yaml.safe_dump({"rule_files": [str(each) for each in FILES], "evaluation_interval": step, "tests": tests})
    )
    promtool("test", "rules", str(path))
