"""What an overload load's answers say together: rates, latencies, refusals, second tries. Pure."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchmarks.harness.load import Answer
    from benchmarks.overload.fleet import Load

OK: Final = 200
# What a client may be told when there is too much to do; anything else but a translation is a failure.
REFUSALS: Final = frozenset({"overloaded", "rate-limited"})


def percentile_ms(seconds: Iterable[float], percent: float) -> float:
    """Return the milliseconds that so many in a hundred did not exceed; nan of nothing."""
    ordered = sorted(seconds)
    return 1000 * ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)] if ordered else math.nan


def is_good(answer: Answer) -> bool:
    """Say whether it is a translation."""
    return answer.status == OK and not answer.code


def is_refused(answer: Answer) -> bool:
    """Say whether it is the clear refusal of a server that has too much to do."""
    return answer.code in REFUSALS


class Figures(NamedTuple):
    """One stream of a load, in the time that counts; latencies in ms, rates in requests (or units of cost) a second."""

    offered: float
    goodput: float
    goodput_units: float
    good: int
    p50: float
    p95: float
    p99: float
    refused: int
    refusals: dict[str, int]
    refused_p50: float
    refused_p99: float
    without_retry_after: int
    others: dict[str, int]
    late_p99: float
    late_most: float
    own_cpu_percent: float
    proxy_cpu_ms: float
    apiserver_cpu_ms: float
    engine_cpu_ms: float

    @property
    def success(self) -> float:
        """The part of the requests that were translated, percent."""
        asked = self.good + self.refused + sum(self.others.values())
        return 100 * self.good / asked if asked else math.nan


def figures(load: Load, stream: str) -> Figures:
    """Return a stream's figures: goodput is what ended in the time that counts, all else is of what was due in it.

    CPU is the servers' over the whole load, for each request translated in it, whoever's it was.
    """
    everything = [answer for answer in load.answers if answer.stream == stream]
    ended = [answer for answer in everything if load.since <= answer.ended < load.until and is_good(answer)]
    sent = [answer for answer in everything if load.since <= answer.due < load.until and answer.turn == 1]
    good = [answer.ended - answer.sent for answer in sent if is_good(answer)]
    refused = [answer for answer in sent if is_refused(answer)]
    refused_after = [answer.ended - answer.sent for answer in refused]
    others = [answer for answer in sent if not is_good(answer) and not is_refused(answer)]
    late = [answer.sent - answer.due for answer in sent]
    translated = sum(map(is_good, load.answers)) or math.nan
    lasted = max((answer.ended for answer in load.answers), default=load.until) - load.began
    return Figures(
        offered=len(sent) / load.seconds,
        goodput=len(ended) / load.seconds,
        goodput_units=sum(answer.units for answer in ended) / load.seconds,
        good=len(good),
        p50=percentile_ms(good, 50),
        p95=percentile_ms(good, 95),
        p99=percentile_ms(good, 99),
        refused=len(refused),
        refusals=_kinds(refused),
        refused_p50=percentile_ms(refused_after, 50),
        refused_p99=percentile_ms(refused_after, 99),
        without_retry_after=sum(answer.retry_after < 0 for answer in refused),
        others=_kinds(others),
        late_p99=percentile_ms(late, 99),
        late_most=percentile_ms(late, 100),
        own_cpu_percent=100 * load.own_cpu / lasted,
        proxy_cpu_ms=1000 * load.cpu.proxy / translated,
        apiserver_cpu_ms=1000 * load.cpu.apiserver / translated,
        engine_cpu_ms=1000 * load.cpu.engine / translated,
    )


def failures(answers: Iterable[Answer]) -> dict[str, int]:
    """Count what was neither translated nor clearly refused, by status and code."""
    return _kinds(answer for answer in answers if not is_good(answer) and not is_refused(answer))


def _kinds(answers: Iterable[Answer]) -> dict[str, int]:
    return dict(Counter(f"{answer.status} {answer.code}" for answer in answers).most_common())


class Returns(NamedTuple):
    """What became of those who were refused in a burst and came back when they were told to; shares in percent."""

    refused: int
    never: int
    came_back: int
    succeeded: float
    came_back_later: int
    succeeded_later: float
    longest_wait: float
    median_wait: float


def returns(load: Load) -> Returns:
    """Return the second tries' figures: all, and those after the burst alone."""
    refused = [answer for answer in load.answers if answer.turn == 1 and is_refused(answer)]
    second = [answer for answer in load.answers if answer.turn == 2]
    later = [answer for answer in second if answer.due >= load.until]
    waits = sorted(answer.retry_after for answer in refused)
    return Returns(
        refused=len(refused),
        never=len({answer.number for answer in refused} - {answer.number for answer in second}),
        came_back=len(second),
        succeeded=_good_percent(second),
        came_back_later=len(later),
        succeeded_later=_good_percent(later),
        longest_wait=waits[-1] if waits else math.nan,
        median_wait=waits[len(waits) // 2] if waits else math.nan,
    )


def _good_percent(answers: Sequence[Answer]) -> float:
    return 100 * sum(map(is_good, answers)) / len(answers) if answers else math.nan
