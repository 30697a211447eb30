"""A case of an alert, and the series that cases are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

P: Final = "pairway_proxy_"
A: Final = "pairway_apiserver_"
REQUESTS: Final = f"{P}requests_total"
BUCKET: Final = f'{P}request_seconds_bucket{{pair="en-de",class="ok",le='
SEGMENTS: Final = f'{A}segments_total{{pair="en-de",stage='
UNUSABLE: Final = f'{A}unusable_outputs_total{{pair="en-de",reason='


@dataclass(frozen=True, slots=True)
class AlertCase:
    """Series with which an alert fires at a time with these labels, and series with which it does not.

    ``step`` is the time between two values. ``quiet`` is empty where an alert always fires.
    """

    fires: Mapping[str, str]
    at: str
    labels: Mapping[str, str]
    summary: str
    quiet: Mapping[str, str]
    step: str = "15s"


def issue(code: str, instance: str = "a") -> str:
    """Return the series of an issue at a proxy."""
    return f'{P}issue{{code="{code}",instance="{instance}"}}'


def ready(instance: str, pair: str = "en-de") -> str:
    """Return the series of a pair's ready replicas at a proxy."""
    return f'{P}pair_ready_replicas{{pair="{pair}",instance="{instance}"}}'


def failing(instance: str, pair: str = "en-de") -> str:
    """Return the series of a pair's failing replicas at a proxy."""
    return f'{P}pair_failing_replicas{{pair="{pair}",instance="{instance}"}}'


def requests(kind: str, outcome: str, pair: str = "en-de") -> str:
    """Return the series of requests with an outcome."""
    return f'{REQUESTS}{{pair="{pair}",class="{kind}",outcome="{outcome}"}}'


def of_engine(name: str, **labels: str) -> str:
    """Return a series of the model m at the API server r1."""
    more = "".join(f',{label}="{value}"' for label, value in labels.items())
    return f'{A}{name}{{model="m",instance="r1"{more}}}'
