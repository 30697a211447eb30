"""A case that fires and one that stays quiet for each alert, as series in promtool's notation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.monitoring.alert_case import (
    BUCKET,
    SEGMENTS,
    UNUSABLE,
    A,
    AlertCase,
    P,
    failing,
    issue,
    of_engine,
    ready,
    requests,
)

AVAILABILITY: Final[Mapping[str, AlertCase]] = {
    "PairUnavailable": AlertCase(
        fires={ready("a"): "0x20", ready("b"): "1x20", failing("b"): "1x20", issue("pair-unavailable"): "1x20"},
        at="2m",
        labels={"pair": "en-de", "severity": "critical"},
        summary="en-de cannot be served by any replica",
        quiet={ready("a"): "0x20", ready("b"): "2x20", failing("b"): "1x20", issue("pair-unavailable"): "1x20"},
    ),
    "PairUnavailableToProxy": AlertCase(
        fires={ready("a"): "0x20", ready("b"): "1x20"},
        at="4m",
        labels={"pair": "en-de", "instance": "a", "severity": "warning"},
        summary="a has no usable replica of en-de, other proxies have",
        quiet={ready("a"): "0x20", ready("b"): "0x20"},
    ),
    "PairWithoutSpare": AlertCase(
        fires={ready("a"): "2x8 1x60"},
        at="14m",
        labels={"pair": "en-de", "severity": "warning"},
        summary="en-de is down to one replica",
        quiet={ready("a"): "1x80"},
    ),
    "ReplicasMissing": AlertCase(
        fires={
            f'{P}expected_replicas{{service="de",instance="a"}}': "3x60",
            f'{P}ready_replicas{{service="de",instance="a"}}': "2x60",
            issue("replicas-missing"): "1x60",
        },
        at="7m",
        labels={"service": "de", "severity": "warning"},
        summary="de has fewer replicas than expected",
        quiet={
            f'{P}expected_replicas{{service="de",instance="a"}}': "3x60",
            f'{P}ready_replicas{{service="de",instance="a"}}': "2x12 3x48",
            issue("replicas-missing"): "1x12 0x48",
        },
    ),
    "ReplicaDown": AlertCase(
        fires={issue("replica-down", "a"): "1x30", issue("replica-down", "b"): "1x30"},
        at="4m",
        labels={"severity": "warning"},
        summary="A replica does not answer",
        quiet={issue("replica-down", "a"): "1x30", issue("replica-down", "b"): "0x30"},
    ),
    "ReplicaNotReady": AlertCase(
        fires={issue("replica-starting"): "1x80", issue("replica-pairs-missing"): "0x80"},
        at="16m",
        labels={"code": "replica-starting", "severity": "warning"},
        summary="A replica answers and does not get ready: replica-starting",
        quiet={issue("replica-starting"): "1x40 0x40", issue("replica-pairs-missing"): "0x40 1x40"},
    ),
    "ReplicaFailing": AlertCase(
        fires={issue("replica-stalled", "a"): "0x40", issue("replica-stalled", "b"): "1x40"},
        at="7m",
        labels={"code": "replica-stalled", "severity": "warning"},
        summary="A replica reports itself ready and does not answer requests: replica-stalled",
        quiet={issue("replica-failing"): "1x10 0x40"},
    ),
    "ReplicaFlapping": AlertCase(
        fires={of_engine("pair_ready", pair="en-de"): "1 0 1 0 1 0 1x40"},
        at="5m",
        labels={"instance": "r1", "severity": "warning"},
        summary="r1 comes and goes",
        quiet={
            of_engine("pair_ready", pair="en-de"): "1 0 0 1 0 1x40",
            'process_start_time_seconds{job="pairway-apiserver",instance="r1"}': "1 1 1 2 3x40",
        },
    ),
    "ErrorBudgetFastBurn": AlertCase(
        fires={requests("ok", "ok"): "0+98x400", requests("failed", "internal"): "0+2x400"},
        at="75m",
        labels={"severity": "critical"},
        summary="2% of the last hour's requests failed",
        quiet={
            requests("ok", "ok"): "0+98x400",
            requests("failed", "internal"): "0+1x400",
            requests("client", "invalid-request"): "0+500x400",
        },
    ),
    "SlowAnswers": AlertCase(
        fires={
            f'{BUCKET}"10"}}': "0x60",
            f'{BUCKET}"20"}}': "0+30x60",
            f'{BUCKET}"+Inf"}}': "0+30x60",
            requests("ok", "ok"): "0+30x60",
        },
        at="14m",
        labels={"pair": "en-de", "severity": "warning"},
        summary="5 % of the answers of en-de take longer than 19.5s",
        quiet={
            f'{BUCKET}"10"}}': "0+29x60",
            f'{BUCKET}"20"}}': "0+30x60",
            f'{BUCKET}"+Inf"}}': "0+30x60",
            requests("ok", "ok"): "0+30x60",
        },
    ),
}

CAPACITY: Final[Mapping[str, AlertCase]] = {
    "Overloaded": AlertCase(
        fires={issue("overload"): "1x60"},
        at="7m",
        labels={"severity": "warning"},
        summary="Requests are refused for lack of capacity",
        quiet={issue("overload"): "1x10 0x5 1x10 0x30"},
    ),
    "QueueGrowing": AlertCase(
        fires={
            of_engine("ahead_units", priority="interactive"): "95x60",
            of_engine("limit_units", priority="interactive"): "100x60",
        },
        at="13m",
        labels={"model": "m", "severity": "warning"},
        summary="m is 95% full; refusals begin at 100 %",
        quiet={
            of_engine("ahead_units", priority="interactive"): "95x60",
            of_engine("limit_units", priority="interactive"): "100x60",
            of_engine("ahead_units", priority="interactive").replace("r1", "r2"): "5x60",
            of_engine("limit_units", priority="interactive").replace("r1", "r2"): "100x60",
        },
    ),
    "ManySecondTries": AlertCase(
        fires={
            f'{P}retries_total{{pair="en-de"}}': "0+4x60",
            f'{P}hedges_total{{pair="fr-en"}}': "0+4x60",
            requests("ok", "ok"): "0+100x60",
        },
        at="12m",
        labels={"severity": "warning"},
        summary="More than 5 % of requests need a second attempt",
        quiet={
            f'{P}retries_total{{pair="en-de"}}': "0+2x60",
            f'{P}hedges_total{{pair="fr-en"}}': "0+2x60",
            requests("ok", "ok"): "0+100x60",
        },
    ),
    "NearLimit": AlertCase(
        fires={
            f'{P}container_memory_bytes{{instance="a"}}': "480x60",
            f'{P}container_memory_limit_bytes{{instance="a"}}': "512x60",
        },
        at="12m",
        labels={"instance": "a", "resource": "memory", "severity": "warning"},
        summary="a uses 93.75% of its memory",
        quiet={
            f'{A}container_memory_bytes{{instance="r1"}}': "400x60",
            f'{A}container_memory_limit_bytes{{instance="r1"}}': "512x60",
            'process_open_fds{job="pairway-proxy",instance="a"}': "700x60",
            'process_max_fds{job="pairway-proxy",instance="a"}': "1024x60",
        },
    ),
}

ENGINES: Final[Mapping[str, AlertCase]] = {
    "EngineDied": AlertCase(
        fires={of_engine("engine_deaths_total"): "0 0 1x20", issue("engine-died"): "0 0 1x20"},
        at="3m",
        labels={"model": "m", "instance": "r1", "severity": "warning"},
        summary="The engine of m on r1 died and was started again",
        quiet={of_engine("engine_deaths_total"): "1x20", issue("engine-died"): "0x20"},
    ),
    "EngineDoesNotStart": AlertCase(
        fires={of_engine("engine_starts_total", outcome="failed"): "0 1 2 3 4x40"},
        at="5m",
        labels={"model": "m", "instance": "r1", "severity": "warning"},
        summary="The engine of m on r1 does not start",
        quiet={
            of_engine("engine_starts_total", outcome="failed"): "0 1x40",
            of_engine("engine_starts_total", outcome="started"): "0+1x40",
        },
    ),
    "UnusableOutputs": AlertCase(
        fires={f'{UNUSABLE}"output-repeats"}}': "0+2x90", f'{A}texts_total{{pair="en-de"}}': "0+100x90"},
        at="22m",
        labels={"pair": "en-de", "severity": "warning"},
        summary="More than 1 % of the texts of en-de have no usable translation",
        quiet={
            f'{UNUSABLE}"low-confidence"}}': "0+20x90",
            f'{UNUSABLE}"output-repeats"}}': "0+1x90",
            f'{A}texts_total{{pair="en-de"}}': "0+100x90",
        },
    ),
}

CONTROL: Final[Mapping[str, AlertCase]] = {
    "RedisAway": AlertCase(
        fires={issue("redis-away", "a"): "1x20", issue("redis-away", "b"): "0x20"},
        at="3m",
        labels={"severity": "warning"},
        summary="1 proxies do not reach Redis",
        quiet={issue("redis-away", "a"): "0 1 1 0x20", issue("redis-away", "b"): "0x20"},
    ),
    "KeysUnavailable": AlertCase(
        fires={f'{P}access_refusals_total{{reason="unavailable"}}': "0+1x30"},
        at="4m",
        labels={"severity": "critical"},
        summary="Callers are refused because their keys cannot be looked up",
        quiet={
            f'{P}access_refusals_total{{reason="key"}}': "0+1x30",
            f'{P}access_refusals_total{{reason="unavailable"}}': "5x30",
        },
    ),
    "NotOneProber": AlertCase(
        fires={
            f'{P}prober{{instance="a"}}': "1x20",
            f'{P}prober{{instance="b"}}': "1x20",
            f'{P}redis_up{{instance="a"}}': "1x20",
        },
        at="4m",
        labels={"severity": "warning"},
        summary="2 proxies hold the leader lease, not one",
        quiet={f'{P}prober{{instance="a"}}': "0x20", f'{P}redis_up{{instance="a"}}': "0x20"},
    ),
    "LoopStuck": AlertCase(
        fires={f'{P}loop_stale{{loop="prober",instance="a"}}': "0 1x20"},
        at="2m",
        labels={"loop": "prober", "instance": "a", "severity": "warning"},
        summary="The loop prober of a does not succeed",
        quiet={
            f'{P}loop_stale{{loop="prober",instance="a"}}': "0 1 0x20",
            f'{A}loop_stale{{loop="host:m",instance="r1"}}': "0x20",
        },
    ),
    "TokenRefused": AlertCase(
        fires={
            f'{P}attempts_total{{replica="http://r1",outcome="ok"}}': "5x40",
            # Born with its first failure, so that no increase shows it.
            f'{P}attempts_total{{replica="http://r1",outcome="key-refused"}}': "_x20 1x20",
        },
        at="7m",
        labels={"replica": "http://r1", "severity": "warning"},
        summary="http://r1 refuses the proxies' token",
        quiet={
            f'{P}attempts_total{{replica="http://r1",outcome="ok"}}': "0+1x40",
            f'{P}attempts_total{{replica="http://r1",outcome="key-refused"}}': "7x40",
        },
    ),
    "TwoVersions": AlertCase(
        fires={issue("versions-differ"): "1x300"},
        at="55m",
        labels={"severity": "info"},
        summary="Servers of two versions run for an hour",
        quiet={issue("versions-differ"): "1x100 0x200"},
    ),
    "NotScraped": AlertCase(
        fires={'up{job="pairway-proxy",instance="a"}': "0x30"},
        at="5m",
        labels={"job": "pairway-proxy", "instance": "a", "severity": "warning"},
        summary="a (pairway-proxy) does not answer Prometheus",
        quiet={'up{job="pairway-proxy",instance="a"}': "0x6 1x30", 'up{job="other",instance="c"}': "0x30"},
    ),
    "NothingScraped": AlertCase(
        fires={f'{P}build_info{{version="1"}}': "1x60", f'{A}build_info{{version="1"}}': "1x4 _x60"},
        at="13m",
        labels={"severity": "critical"},
        summary="Prometheus has no metrics of proxies or of API servers",
        quiet={f'{P}build_info{{version="1"}}': "1x60", f'{A}build_info{{version="1"}}': "1x60"},
    ),
    "Watchdog": AlertCase(
        fires={}, at="1m", labels={"severity": "none"}, summary="Alerts are evaluated and delivered", quiet={}
    ),
}

LONG: Final[Mapping[str, AlertCase]] = {
    "ErrorBudgetSlowBurn": AlertCase(
        fires={requests("ok", "ok"): "0+19800x120", requests("failed", "internal"): "0+160x120"},
        at="7h",
        labels={"severity": "warning"},
        summary="0.8016% of the requests of the last six hours failed",
        quiet={requests("ok", "ok"): "0+20000x120", requests("failed", "internal"): "0+160x10 1600x110"},
        step="5m",
    ),
    "QualityChanged": AlertCase(
        fires={f'{SEGMENTS}"first"}}': "0+2000x620", f'{SEGMENTS}"best"}}': "0+20x576 11520+200x44"},
        at="51h",
        labels={"pair": "en-de", "severity": "info"},
        summary="9.091% of the segments of en-de need a fallback, twice as many as the day before",
        quiet={f'{SEGMENTS}"first"}}': "0+2000x620", f'{SEGMENTS}"best"}}': "0+20x620"},
        step="5m",
    ),
}

CASES: Final[Mapping[str, AlertCase]] = {**AVAILABILITY, **CAPACITY, **ENGINES, **CONTROL, **LONG}
# Further branches of expressions that have several.
BRANCHES: Final[tuple[tuple[str, AlertCase], ...]] = (
    (
        "PairUnavailable",
        AlertCase(
            fires={issue("pair-unavailable", "a"): "1x20", issue("pair-unavailable", "b"): "1x20"},
            at="2m",
            labels={"severity": "critical"},
            summary="Every pair cannot be served by any replica",
            quiet={issue("pair-unavailable", "a"): "1x20", issue("pair-unavailable", "b"): "0x20"},
        ),
    ),
    (
        "PairUnavailable",
        AlertCase(
            fires={ready("a"): "2x20", failing("a"): "2x20", issue("pair-failing"): "1x20"},
            at="2m",
            labels={"pair": "en-de", "severity": "critical"},
            summary="en-de cannot be served by any replica",
            # The proxy counts it among its issues no more.
            quiet={ready("a"): "0x20", issue("pair-unavailable"): "0x20"},
        ),
    ),
    (
        "ReplicaFlapping",
        AlertCase(
            fires={'process_start_time_seconds{job="pairway-apiserver",instance="r1"}': "1 2 3 4x40"},
            at="5m",
            labels={"instance": "r1", "severity": "warning"},
            summary="r1 comes and goes",
            quiet={'process_start_time_seconds{job="pairway-proxy",instance="a"}': "1 2 3 4x40"},
        ),
    ),
    (
        "NearLimit",
        AlertCase(
            fires={
                'process_open_fds{job="pairway-apiserver",instance="r1"}': "900x60",
                'process_max_fds{job="pairway-apiserver",instance="r1"}': "1024x60",
            },
            at="12m",
            labels={"job": "pairway-apiserver", "instance": "r1", "resource": "open files", "severity": "warning"},
            summary="r1 uses 87.89% of its open files",
            quiet={
                'process_open_fds{job="other",instance="c"}': "900x60",
                'process_max_fds{job="other",instance="c"}': "1024x60",
            },
        ),
    ),
    (
        "NotOneProber",
        AlertCase(
            fires={f'{P}prober{{instance="a"}}': "0x20", f'{P}redis_up{{instance="a"}}': "1x20"},
            at="4m",
            labels={"severity": "warning"},
            summary="0 proxies hold the leader lease, not one",
            quiet={f'{P}prober{{instance="a"}}': "1x20", f'{P}redis_up{{instance="a"}}': "1x20"},
        ),
    ),
    (
        "LoopStuck",
        AlertCase(
            fires={f'{A}loop_stale{{loop="host:m",instance="r1"}}': "1x20"},
            at="2m",
            labels={"loop": "host:m", "instance": "r1", "severity": "warning"},
            summary="The loop host:m of r1 does not succeed",
            quiet={f'{A}loop_stale{{loop="host:m",instance="r1"}}': "0x20"},
        ),
    ),
    (
        "TokenRefused",
        AlertCase(
            fires={f'{P}attempts_total{{replica="http://r1",outcome="403"}}': "3x4 3+1x40"},
            at="9m",
            labels={"replica": "http://r1", "severity": "warning"},
            summary="http://r1 refuses the proxies' token",
            quiet={f'{P}attempts_total{{replica="http://r1",outcome="500"}}': "0+1x40"},
        ),
    ),
)
# Fires always, so that no series keeps it quiet.
ALWAYS: Final = frozenset({"Watchdog"})
