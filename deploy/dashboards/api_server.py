"""The dashboard API server: why one server or its engines do not keep up."""

from __future__ import annotations

from typing import Final

from grafana_foundation_sdk.builders import dashboard

from deploy.dashboards.frame import framed, some_of
from deploy.dashboards.panels import COUNT, PER_SECOND, SECONDS, SHARE, Panel, Query, Text, lines, rows, states
from deploy.dashboards.process import process_panels

_INSTANCE: Final = 'instance=~"$instance"'
_NO_MODELS: Final = "No models here"


def api_server() -> dashboard.Dashboard:
    """Return the dashboard."""
    return framed(
        "api-server",
        "API server",
        "Why does a server, or one of its engines, not keep up?",
        [*_engines(), *_queues(), *process_panels("apiserver")],
        some_of("instance", "API server", "pairway_apiserver_build_info"),
    )


def _engines() -> list[Panel]:
    return [
        states(
            Text("Pairs", "Does it come and go?", _NO_MODELS, "replica-flapping"),
            Query(f"pairway_apiserver_pair_ready{{{_INSTANCE}}}", "{{instance}} {{pair}}"),
            one="ready",
            zero="not ready",
            one_is_good=True,
        ),
        lines(
            Text(
                "Engines: deaths and starts of an hour", "Does an engine die, or not start?", _NO_MODELS, "engine-died"
            ),
            COUNT,
            Query(
                f"sum by (instance, model) (increase(pairway_apiserver_engine_deaths_total{{{_INSTANCE}}}[1h]))",
                "{{instance}} {{model}}: died",
            ),
            Query(
                "sum by (instance, model, outcome) "
                f"(increase(pairway_apiserver_engine_starts_total{{{_INSTANCE}}}[1h]))",
                "{{instance}} {{model}}: {{outcome}}",
            ),
        ),
        lines(
            Text("Last start of engines", "How long will a restart take?", _NO_MODELS, "replica-starting"),
            SECONDS,
            Query(f"pairway_apiserver_engine_start_seconds{{{_INSTANCE}}}", "{{instance}} {{model}}"),
        ),
        rows(
            Text("Models", "Which revisions are served? Two of one model: a change stopped half way.", _NO_MODELS),
            Query(f"count by (model, revision) (pairway_apiserver_model_info{{{_INSTANCE}}})", ""),
        ),
    ]


def _queues() -> list[Panel]:
    return [
        lines(
            Text("Queue", "How full is it? At 100 % new requests are refused.", _NO_MODELS, "queue-growing"),
            SHARE,
            Query(
                f"pairway_apiserver_ahead_units{{{_INSTANCE}}} / pairway_apiserver_limit_units{{{_INSTANCE}}}",
                "{{instance}} {{model}} {{priority}}",
            ),
        ),
        lines(
            Text("Time in the queue", "How long do 5 % of requests wait at least?", "No requests", "answers-slow"),
            SECONDS,
            Query(
                "histogram_quantile(0.95, sum by (instance, model, priority, le) "
                f"(rate(pairway_apiserver_waiting_seconds_bucket{{{_INSTANCE}}}[5m])))",
                "{{instance}} {{model}} {{priority}}",
            ),
        ),
        lines(
            Text("Refused", "Who is refused for lack of capacity?", _NO_MODELS, "overload"),
            PER_SECOND,
            Query(
                f"sum by (instance, model, priority) (rate(pairway_apiserver_refused_total{{{_INSTANCE}}}[5m]))",
                "{{instance}} {{model}} {{priority}}",
            ),
        ),
        lines(
            Text(
                "Throughput of full engines",
                "What can an engine do? Less than before: its device is slow.",
                "No engine was full yet",
                "answers-slow",
            ),
            COUNT,
            Query(f"pairway_apiserver_throughput_units_per_second{{{_INSTANCE}}}", "{{instance}} {{model}}"),
        ),
        lines(
            Text("Requests by outcome", "What does the server answer?", "No requests", "replica-failing"),
            PER_SECOND,
            Query(
                f"sum by (instance, outcome) (rate(pairway_apiserver_requests_total{{{_INSTANCE}}}[5m])) > 0",
                "{{instance}} {{outcome}}",
            ),
        ),
        lines(
            Text(
                "Sequences in engines",
                "Does vLLM work? None, while requests wait: it hangs.",
                _NO_MODELS,
                "replica-stalled",
            ),
            COUNT,
            Query(f"vllm:num_requests_running{{{_INSTANCE}}}", "{{instance}} {{model_name}}"),
        ),
    ]
