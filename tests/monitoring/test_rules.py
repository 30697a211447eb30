"""What rules name exists: metrics and labels in a real scrape, runbooks, issue codes; severities and intervals."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import pytest
import yaml

from proxy.api.runbooks import FOLDER as DOCUMENTS
from proxy.status.diagnosis import IssueCode
from tests.monitoring.rules import FILES, RUNBOOKS, Rule, alerts, metrics_in, recordings, selectors_in
from tests.monitoring.scrape import Scrape

pytestmark = pytest.mark.monitoring

MOST_ALERTS: Final = 28
SEVERITIES: Final = {"critical", "warning", "info", "none"}
# Why an issue of this code has no alert that reads it.
CODES_WITHOUT_ALERT: Final[Mapping[str, str]] = {
    IssueCode.REPLICA_FULL: "it passes within a second; QueueGrowing and Overloaded tell what lasts",
    IssueCode.REQUESTS_FAILING: "of one minute; ErrorBudgetFastBurn tells as soon as it is worth a call",
    IssueCode.ANSWERS_SLOW: "a change against the minutes before, over within two; SlowAnswers tells what lasts",
}
# Why a critical alert reads no issue.
CRITICAL_WITHOUT_CODE: Final[Mapping[str, str]] = {
    "ErrorBudgetFastBurn": "a budget of a month, and no state of now",
    "KeysUnavailable": "a consequence of redis-away that depends on a setting",
    "NothingScraped": "there is nothing to read",
}
# Windows from here on are for the groups with an interval of their own, in seconds.
LONG_WINDOW_SECONDS: Final = 2 * 3600
PAGE_LINES: Final = range(15, 26)
PAGE_PARTS: Final = ["## What callers notice", "## First look", "## Steps", "## How it ends"]
_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def test_every_metric_of_a_rule_is_scraped(scrape: Scrape) -> None:
    recorded = {rule.name for rule in recordings()}
    for rule in (*alerts(), *recordings()):
        missing = metrics_in(rule.expression) - scrape.names - recorded
        assert not missing, f"{rule.name} reads {', '.join(sorted(missing))}, which no scrape has"


def test_every_label_of_a_rule_is_scraped(scrape: Scrape) -> None:
    for rule in (*alerts(), *recordings()):
        for metric, labels in selectors_in(rule.expression):
            assert labels <= scrape.labels[metric], f"{rule.name}: {metric} has no {', '.join(labels)}"


@pytest.mark.parametrize(
    ("expression", "metrics"),
    [
        ('max by (pair) (a_b{x="c"}) == 0 and on (pair) d:e:f > 1', {"a_b", "d:e:f"}),
        ('histogram_quantile(0.95, sum by (le) (rate(a_bucket{c="d"}[5m] offset 1d)))', {"a_bucket"}),
        ('label_replace(a / b > 0.9, "resource", "open files", "", "")', {"a", "b"}),
        ("vector(1)", set[str]()),
    ],
)
def test_metrics_are_found_in_expressions(expression: str, metrics: set[str]) -> None:
    assert metrics_in(expression) == metrics


def test_every_recording_is_read() -> None:
    read = {name for rule in (*alerts(), *recordings()) for name in metrics_in(rule.expression)}
    assert not {rule.name for rule in recordings()} - read


def test_alerts_are_few_and_named_once() -> None:
    names = [alert.name for alert in alerts()]
    assert len(names) == len(set(names)) <= MOST_ALERTS


@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: alert.name)
def test_alert_says_what_it_means_and_what_to_do(alert: Rule) -> None:
    assert alert.severity in SEVERITIES
    assert alert.annotations.keys() == {"summary", "description", "runbook_url"}
    assert alert.annotations["description"].endswith("."), "a sentence"
    assert alert.runbook.parent == RUNBOOKS
    assert alert.runbook.is_file(), f"{alert.name} has no page {alert.runbook.name}"


@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: alert.name)
def test_index_leads_from_each_alert_to_its_page(alert: Rule) -> None:
    index = (RUNBOOKS / "README.md").read_text()
    (row,) = re.findall(rf"^\| [^|]*`{alert.name}`[^|]* \|.*$", index, re.MULTILINE)
    assert f"]({alert.runbook.name})" in row
    assert alert.runbook.is_relative_to(DOCUMENTS), "the proxy serves it"


def test_page_of_an_alert_alone_is_short_and_whole() -> None:
    pages = {alert.runbook for alert in alerts()} - {RUNBOOKS / f"{code}.md" for code in IssueCode}
    assert pages
    for page in pages:
        lines = page.read_text().splitlines()
        assert len(lines) in PAGE_LINES, f"{page.name} has {len(lines)} lines"
        assert [line for line in lines if line.startswith("## ")] == PAGE_PARTS, page.name
        assert [line[:3] for line in lines if line[:1].isdigit()] == ["1. ", "2. ", "3. "], page.name


def test_each_issue_code_has_an_alert_or_a_reason() -> None:
    read = {code for alert in alerts() for code in alert.codes}
    assert read <= set(IssueCode)
    assert set(IssueCode) - read == CODES_WITHOUT_ALERT.keys()


def test_each_critical_alert_reads_an_issue_or_has_a_reason() -> None:
    critical = {alert.name for alert in alerts() if alert.severity == "critical" and not alert.codes}
    assert critical == CRITICAL_WITHOUT_CODE.keys()


def test_page_and_pager_lead_to_the_same_runbook() -> None:
    for alert in alerts():
        if alert.codes:
            text = alert.runbook.read_text()
            assert alert.runbook.stem in alert.codes, f"{alert.name}: {alert.runbook.name}"
            strangers = {code for code in alert.codes - {alert.runbook.stem} if f"]({code}.md)" not in text}
            assert not strangers, f"{alert.runbook.name} does not lead to {', '.join(strangers)}"


def test_long_windows_have_an_interval_of_their_own() -> None:
    groups = [group for path in FILES for group in yaml.safe_load(path.read_text())["groups"]]
    for group in groups:
        for rule in group["rules"]:
            windows = re.findall(r"\[(\d+)([smhd])\]", rule["expr"])
            is_long = any(int(count) * _UNITS[unit] >= LONG_WINDOW_SECONDS for count, unit in windows)
            assert not is_long or "interval" in group, f"{group['name']}: {rule['expr']}"
