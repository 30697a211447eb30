"""The dashboard Pair: why callers of a pair are served badly."""

from __future__ import annotations

from typing import Final

from grafana_foundation_sdk.builders import dashboard

from deploy.dashboards.frame import framed, one_of
from deploy.dashboards.panels import (
    CHARACTERS_PER_SECOND,
    COUNT,
    COUNT_PER_SECOND,
    PER_SECOND,
    SECONDS,
    SHARE,
    Panel,
    Query,
    Text,
    lines,
    states,
)

_PAIR: Final = 'pair=~"$pair"'
_NOTHING_ASKED: Final = "Nobody asked for this pair"


def pair() -> dashboard.Dashboard:
    """Return the dashboard."""
    return framed(
        "pair",
        "Pair",
        "Why are callers of a pair served badly?",
        [*_replicas(), *_requests(), *_quality()],
        one_of("pair", "Pair", "pairway_proxy_requests_total"),
    )


def _replicas() -> list[Panel]:
    return [
        lines(
            Text(
                "Usable replicas by proxy",
                "How many replicas can each proxy use: ready, and not excluded by its own statistics?",
                "No proxy knows this pair",
                "pair-unavailable-to-proxy",
            ),
            COUNT,
            Query(f"instance:pairway_proxy_usable_replicas:by_pair{{{_PAIR}}}", "{{pair}} at {{instance}}"),
        ),
        states(
            Text(
                "Ready at API servers",
                "Who serves the pair, and since when?",
                "No API server has it",
                "pair-unavailable",
            ),
            Query(f"pairway_apiserver_pair_ready{{{_PAIR}}}", "{{pair}} at {{instance}}"),
            one="ready",
            zero="not ready",
            one_is_good=True,
        ),
    ]


def _requests() -> list[Panel]:
    return [
        lines(
            Text("Requests by outcome", "What do callers get?", _NOTHING_ASKED, "requests-failing"),
            PER_SECOND,
            Query(f"sum by (outcome) (rate(pairway_proxy_requests_total{{{_PAIR}}}[5m])) > 0", "{{outcome}}"),
        ),
        lines(
            Text("Time of good answers", "How long do callers wait?", _NOTHING_ASKED, "answers-slow"),
            SECONDS,
            *(
                Query(
                    f"histogram_quantile({quantile}, sum by (le) "
                    f'(rate(pairway_proxy_request_seconds_bucket{{class="ok", {_PAIR}}}[5m])))',
                    legend,
                )
                for quantile, legend in ((0.5, "p50"), (0.95, "p95"), (0.99, "p99"))
            ),
        ),
        lines(
            Text("Second attempts", "Does a replica fail or answer late?", "No replica was asked", "many-second-tries"),
            PER_SECOND,
            Query(f"sum by (pair) (rate(pairway_proxy_retries_total{{{_PAIR}}}[5m]))", "{{pair}}: retries"),
            Query(f"sum by (pair) (rate(pairway_proxy_hedges_total{{{_PAIR}}}[5m]))", "{{pair}}: hedges"),
        ),
        lines(
            Text("Routes", "Is it translated directly, or through a third language?", _NOTHING_ASKED),
            PER_SECOND,
            Query(f"sum by (route) (rate(pairway_proxy_requests_total{{{_PAIR}}}[5m])) > 0", "{{route}}"),
        ),
        lines(
            Text("Characters", "How much text comes?", _NOTHING_ASKED),
            CHARACTERS_PER_SECOND,
            Query(f"sum by (pair) (rate(pairway_proxy_characters_total{{{_PAIR}}}[5m]))", "{{pair}}"),
        ),
        lines(
            Text("Answered from the cache", "Which share of texts needs no replica?", "The cache is off"),
            SHARE,
            Query(
                f"sum by (pair) (rate(pairway_proxy_cache_hits_total{{{_PAIR}}}[5m]))"
                f" / (sum by (pair) (rate(pairway_proxy_cache_hits_total{{{_PAIR}}}[5m]))"
                f" + sum by (pair) (rate(pairway_proxy_cache_misses_total{{{_PAIR}}}[5m])))",
                "{{pair}}",
            ),
            most=1,
        ),
    ]


def _quality() -> list[Panel]:
    return [
        lines(
            Text(
                "Stages of segments",
                "Which attempt gave the translation? More of the later ones is worse.",
                "Nothing was translated",
                "quality",
            ),
            COUNT_PER_SECOND,
            Query(f"sum by (stage) (rate(pairway_apiserver_segments_total{{{_PAIR}}}[5m]))", "{{stage}}"),
        ),
        lines(
            Text(
                "Segments that need a fallback",
                "Did the quality change against the day before?",
                "Nothing was translated",
                "quality",
            ),
            SHARE,
            Query(f"pair:pairway_apiserver_segments_fallback:ratio_rate1h{{{_PAIR}}}", "{{pair}}: hour"),
            Query(f"pair:pairway_apiserver_segments_fallback:ratio_rate1d{{{_PAIR}}}", "{{pair}}: day"),
        ),
        lines(
            Text(
                "Texts without a usable translation",
                "Why did callers get unusable-output?",
                "There were none",
                "quality",
            ),
            COUNT_PER_SECOND,
            Query(f"sum by (reason) (rate(pairway_apiserver_unusable_outputs_total{{{_PAIR}}}[5m]))", "{{reason}}"),
        ),
        lines(
            Text("Guards", "What was found in outputs, and was it mended?", "Nothing was found", "quality"),
            COUNT_PER_SECOND,
            Query(
                f"sum by (guard, outcome) (rate(pairway_apiserver_guards_total{{{_PAIR}}}[5m]))",
                "{{guard}}: {{outcome}}",
            ),
        ),
    ]
