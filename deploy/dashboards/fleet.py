"""The dashboard Fleet: do callers get answers, and if not, what is wrong."""

from __future__ import annotations

from typing import Final

from grafana_foundation_sdk.builders import dashboard

from deploy.dashboards.frame import framed
from deploy.dashboards.panels import (
    COUNT,
    GREEN,
    ORANGE,
    PER_SECOND,
    RED,
    SECONDS,
    SHARE,
    Panel,
    Query,
    Step,
    Text,
    lines,
    link,
    number,
    rows,
    states,
)

# The part of requests that may fail, as in the alerts ErrorBudgetFastBurn and ErrorBudgetSlowBurn.
BUDGET: Final = "0.001"
# The dashboard of the pair whose line is clicked.
_ITS_PAIR: Final = link("Pair", "/d/pairway-pair?var-pair=${__field.labels.pair}")
_NOTHING_SCRAPED: Final = "Prometheus scrapes no proxy"


def fleet() -> dashboard.Dashboard:
    """Return the dashboard."""
    return framed(
        "fleet",
        "Fleet",
        "Do callers get answers, and if not, what is wrong?",
        [*_verdict(), *_what_is_wrong(), *_requests(), *_replicas()],
    )


def _verdict() -> list[Panel]:
    return [
        number(
            Text(
                "Answered, 5 minutes",
                "Which share of requests did not fail? Errors of clients do not count.",
                "No requests",
                "requests-failing",
            ),
            SHARE,
            Query("1 - fleet:pairway_proxy_requests_failed:ratio_rate5m", "answered"),
            RED,
            # Where ErrorBudgetFastBurn and ErrorBudgetSlowBurn end.
            Step(1 - 14.4 * 0.001, ORANGE),
            Step(1 - 6 * 0.001, GREEN),
        ),
        number(
            Text(
                "Pairs without a usable replica",
                "How many pairs can no proxy serve?",
                _NOTHING_SCRAPED,
                "pair-unavailable",
            ),
            COUNT,
            Query(
                "count(max by (pair) (instance:pairway_proxy_usable_replicas:by_pair) == 0)"
                " or 0 * count(pairway_proxy_build_info)",
                "pairs",
            ),
            GREEN,
            Step(1, RED),
        ),
        number(
            Text(
                "Pairs with one replica",
                "How many pairs does the next failure make unavailable?",
                _NOTHING_SCRAPED,
                "pair-without-spare",
            ),
            COUNT,
            Query(
                "count(max by (pair) (pairway_proxy_pair_ready_replicas) == 1) or 0 * count(pairway_proxy_build_info)",
                "pairs",
            ),
            GREEN,
            Step(1, ORANGE),
        ),
        number(
            Text("Servers not scraped", "What is not seen here?", "Prometheus has no targets", "not-scraped"),
            COUNT,
            Query('count(up{job=~"pairway-.*"} == 0) or 0 * count(up{job=~"pairway-.*"})', "servers"),
            GREEN,
            Step(1, ORANGE),
        ),
    ]


def _what_is_wrong() -> list[Panel]:
    return [
        rows(
            Text("Alerts that fire", "What was somebody told?", "No alert fires"),
            Query('ALERTS{alertstate="firing", severity!="none"}', ""),
            "alertstate",
            "Value",
        ),
        states(
            Text("Issues", "What is wrong by the proxies' own lists, and since when?", _NOTHING_SCRAPED),
            Query("max by (code) (pairway_proxy_issue)", "{{code}}"),
            one="wrong",
            zero="fine",
            one_is_good=False,
        ),
    ]


def _requests() -> list[Panel]:
    return [
        lines(
            Text("Requests by class", "How much is asked, refused, failed?", "No requests", "requests-failing"),
            PER_SECOND,
            Query("sum by (class) (rate(pairway_proxy_requests_total[5m]))", "{{class}}"),
        ),
        lines(
            Text("Failures by outcome", "What do callers get instead of an answer?", "No failures", "requests-failing"),
            PER_SECOND,
            Query('sum by (outcome) (rate(pairway_proxy_requests_total{class="failed"}[5m])) > 0', "{{outcome}}"),
        ),
        lines(
            Text(
                "Speed of the error budget",
                "How many times faster than allowed does it go? Somebody is woken above 14.4 in 5 minutes and an hour, "
                "told above 6 in 30 minutes and 6 hours.",
                "No requests",
                "requests-failing",
            ),
            COUNT,
            *(
                Query(f"fleet:pairway_proxy_requests_failed:ratio_rate{window} / {BUDGET}", window)
                for window in ("5m", "30m", "1h", "6h")
            ),
        ),
        lines(
            Text("Slowest pairs", "How long do 5 % of good answers take at least?", "No answers", "answers-slow"),
            SECONDS,
            Query("topk(10, pair:pairway_proxy_request_seconds:p95_rate5m)", "{{pair}}"),
        ).data_links([_ITS_PAIR]),
        lines(
            Text("Pairs that fail", "Which pairs are it?", "No failures", "pair-failing"),
            PER_SECOND,
            Query('topk(10, sum by (pair) (rate(pairway_proxy_requests_total{class="failed"}[5m])) > 0)', "{{pair}}"),
        ).data_links([_ITS_PAIR]),
        lines(
            Text(
                "Second attempts",
                "Do replicas fail or answer late, so that requests need another? Somebody is told above 5 %.",
                "No requests",
                "many-second-tries",
            ),
            SHARE,
            Query(
                "sum(rate(pairway_proxy_retries_total[5m])) / sum(rate(pairway_proxy_requests_total[5m]))", "retries"
            ),
            Query("sum(rate(pairway_proxy_hedges_total[5m])) / sum(rate(pairway_proxy_requests_total[5m]))", "hedges"),
        ),
    ]


def _replicas() -> list[Panel]:
    return [
        lines(
            Text("Replicas by state", "Who serves?", _NOTHING_SCRAPED, "replica-down"),
            COUNT,
            Query("max by (state) (pairway_proxy_replicas)", "{{state}}"),
        ),
        lines(
            Text(
                "Replicas of services",
                "Are as many ready as expected?",
                "No service in PROXY_REPLICAS",
                "replicas-missing",
            ),
            COUNT,
            Query("max by (service) (pairway_proxy_ready_replicas)", "{{service}}: ready"),
            Query("max by (service) (pairway_proxy_expected_replicas)", "{{service}}: expected"),
        ),
        lines(
            Text("Fullest queues", "Which model will refuse requests? At 100 % it does.", "No models", "queue-growing"),
            SHARE,
            Query("topk(10, model:pairway_apiserver_ahead_units:ratio)", "{{model}}"),
        ),
        rows(
            Text("Versions", "Is a roll going on, or did it stop?", "Nothing is scraped", "versions-differ"),
            Query(
                "count by (job, version, vllm) (pairway_proxy_build_info or pairway_apiserver_build_info)",
                "",
            ),
        ),
    ]
