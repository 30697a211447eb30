"""The dashboard Proxies: whether the proxies themselves are the fault."""

from __future__ import annotations

from typing import Final

from grafana_foundation_sdk.builders import dashboard

from deploy.dashboards.frame import framed, some_of
from deploy.dashboards.panels import BYTES, COUNT, PER_SECOND, SECONDS, Panel, Query, Text, lines, states
from deploy.dashboards.process import process_panels

_INSTANCE: Final = 'instance=~"$instance"'
_NOTHING_SCRAPED: Final = "Prometheus scrapes no proxy"


def proxies() -> dashboard.Dashboard:
    """Return the dashboard."""
    return framed(
        "proxies",
        "Proxies",
        "Are the proxies themselves the fault?",
        [*_traffic(), *_control(), *process_panels("proxy")],
        some_of("instance", "Proxy", "pairway_proxy_build_info"),
    )


def _traffic() -> list[Panel]:
    return [
        lines(
            Text("Requests by proxy", "Does each get its part?", _NOTHING_SCRAPED),
            PER_SECOND,
            Query(f"sum by (instance) (rate(pairway_proxy_requests_total{{{_INSTANCE}}}[5m]))", "{{instance}}"),
        ),
        lines(
            Text("Requests in flight", "Does work pile up in one?", _NOTHING_SCRAPED, "answers-slow"),
            COUNT,
            Query(f"pairway_proxy_requests_in_flight{{{_INSTANCE}}}", "{{instance}}"),
        ),
        lines(
            Text(
                "Failed attempts by replica",
                "Which replica fails, and how? 401 and 403: it refuses the proxies' token.",
                "No attempt failed",
                "replica-failing",
            ),
            PER_SECOND,
            Query(
                f'sum by (replica, outcome) (rate(pairway_proxy_attempts_total{{outcome!="ok", {_INSTANCE}}}[5m])) > 0',
                "{{replica}} {{outcome}}",
            ),
        ),
        lines(
            Text("Second attempts", "Does one proxy need more than others?", _NOTHING_SCRAPED, "many-second-tries"),
            PER_SECOND,
            Query(f"sum by (instance) (rate(pairway_proxy_retries_total{{{_INSTANCE}}}[5m]))", "{{instance}}: retries"),
            Query(f"sum by (instance) (rate(pairway_proxy_hedges_total{{{_INSTANCE}}}[5m]))", "{{instance}}: hedges"),
        ),
    ]


def _control() -> list[Panel]:
    return [
        states(
            Text("Redis", "Do the proxies share what they know?", _NOTHING_SCRAPED, "redis-away"),
            Query(f"pairway_proxy_redis_up{{{_INSTANCE}}}", "{{instance}}"),
            one="there",
            zero="away",
            one_is_good=True,
        ),
        lines(
            Text("Probers", "Does exactly one proxy probe for all?", _NOTHING_SCRAPED, "not-one-prober"),
            COUNT,
            Query("sum(pairway_proxy_prober)", "probers"),
        ),
        lines(
            Text(
                "Sweeps", "How long does it take to ask all replicas, in 5 % of sweeps?", _NOTHING_SCRAPED, "loop-stuck"
            ),
            SECONDS,
            Query(
                "histogram_quantile(0.95, sum by (instance, le) "
                f"(rate(pairway_proxy_sweep_seconds_bucket{{{_INSTANCE}}}[5m])))",
                "{{instance}}",
            ),
        ),
        lines(
            Text("Memory cache", "How much does it hold?", _NOTHING_SCRAPED),
            BYTES,
            Query(f"pairway_proxy_cache_bytes{{{_INSTANCE}}}", "{{instance}}"),
        ),
    ]
