"""The dashboard Callers: who asks, and who is refused."""

from __future__ import annotations

from typing import Final

from grafana_foundation_sdk.builders import dashboard

from deploy.dashboards.frame import framed
from deploy.dashboards.panels import CHARACTERS_PER_SECOND, COUNT_PER_SECOND, PER_SECOND, Panel, Query, Text, lines

_NOTHING_SCRAPED: Final = "Prometheus scrapes no proxy"
_NO_KEYS: Final = "Keys are counted where PROXY_METRIC_KEYS is set"


def callers() -> dashboard.Dashboard:
    """Return the dashboard."""
    return framed("callers", "Callers", "Who asks, and who is refused?", [*_refusals(), *_keys(), *_use()])


def _refusals() -> list[Panel]:
    return [
        lines(
            Text(
                "Refused because of load",
                "Who is refused, and was it full, a share or a deadline?",
                "No request was refused",
                "overload",
            ),
            PER_SECOND,
            Query("sum by (priority, reason) (rate(pairway_proxy_shed_total[5m]))", "{{priority}}: {{reason}}"),
        ),
        lines(
            Text(
                "Refused by key or quota",
                "Does a caller lack its key, or use it up? unavailable: Redis is away.",
                "Keys are off",
                "redis-away",
            ),
            PER_SECOND,
            Query("sum by (reason) (rate(pairway_proxy_access_refusals_total[5m]))", "{{reason}}"),
        ),
        lines(
            Text("Refused before the key was known", "Does a network flood the proxies?", _NOTHING_SCRAPED),
            PER_SECOND,
            Query("sum by (reason) (rate(pairway_proxy_keyless_refusals_total[5m]))", "{{reason}}"),
        ),
        lines(
            Text("Errors of clients", "What do callers do wrong?", "No caller did anything wrong"),
            PER_SECOND,
            Query('sum by (outcome) (rate(pairway_proxy_requests_total{class="client"}[5m])) > 0', "{{outcome}}"),
        ),
    ]


def _keys() -> list[Panel]:
    return [
        lines(
            Text("Busiest keys", "Who sends most requests?", _NO_KEYS, "overload"),
            PER_SECOND,
            Query("topk(10, sum by (key) (rate(pairway_proxy_key_requests_total[5m])))", "{{key}}"),
        ),
        lines(
            Text("Characters by key", "Who sends most text, as charged?", _NO_KEYS, "overload"),
            CHARACTERS_PER_SECOND,
            Query(
                "topk(10, sum by (key) (rate(pairway_proxy_key_characters_total[5m]))"
                " - (sum by (key) (rate(pairway_proxy_key_refunded_characters_total[5m]))"
                " or 0 * sum by (key) (rate(pairway_proxy_key_characters_total[5m]))))",
                "{{key}}",
            ),
        ),
    ]


def _use() -> list[Panel]:
    return [
        lines(
            Text("Characters by pair", "What is translated?", "No requests"),
            CHARACTERS_PER_SECOND,
            Query("topk(10, sum by (pair) (rate(pairway_proxy_characters_total[5m])))", "{{pair}}"),
        ),
        lines(
            Text("Detected languages", "Which languages do texts without a stated one have?", "Nobody asked for auto"),
            COUNT_PER_SECOND,
            Query("topk(10, sum by (lang) (rate(pairway_proxy_detected_total[5m])))", "{{lang}}"),
        ),
        lines(
            Text(
                "Waits of compatible APIs",
                "Did clients that cannot try again get an answer after a fault had passed?",
                "None had to wait",
                "requests-failing",
            ),
            PER_SECOND,
            Query("sum by (outcome) (rate(pairway_proxy_waits_total[5m]))", "{{outcome}}"),
        ),
        lines(
            Text("Same request at once", "How many were answered by the computation of another?", "None was"),
            PER_SECOND,
            Query("sum by (pair) (rate(pairway_proxy_coalesced_total[5m]))", "{{pair}}"),
        ),
    ]
