"""How fast one replica is, by what was measured of it: the service times of a fleet. Pure.

The measured file is JSON, one replica's::

    {"what": "en-de, 2 cores, 2026-11-21",           where the figures come from
     "most_segments": 16,                            the engine's max_num_seqs
     "overhead_seconds": 0.01,                       a request's time outside the engine
     "mix": [[0.6, 80], [0.3, 250], [0.1, 900]],     shares of requests, characters of each
     "closed": [[1, 10.5], [8, 45.2], [32, 60.0]]}   requests at once, requests done in a second (of this mix)

or, instead of ``closed``, ``"steps": [[8, 0.0083], [16, 0.0092]]``: segments that run, seconds of a step (``make tune``).
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any, Final, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

# Sentences of that many characters; about four characters a token, and a few tokens that every segment costs.
SEGMENT_CHARS: Final = 120
CHARS_PER_TOKEN: Final = 4
TOKENS_PER_SEGMENT: Final = 4
# The lengths of bench-overload's requests (benchmarks/harness/texts.py, Tatoeba's en-de sentences), each the mean of a
# twentieth of 4,000 of them.
OVERLOAD_CHARS: Final = (42, 49, 53, 57, 60, 63, 67, 70, 73, 77, 81, 86, 92, 101, 113, 127, 158, 228, 314, 409)
Positive = Annotated[float, Field(gt=0)]


def text_segments(chars: int) -> tuple[int, float]:
    """Return the segments of a text and the tokens of each."""
    segments = math.ceil(chars / SEGMENT_CHARS)
    return segments, chars / segments / CHARS_PER_TOKEN + TOKENS_PER_SEGMENT


class ReplicaMeasurements(BaseModel):
    """What was measured of one replica; see above."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    what: str
    most_segments: int = Field(ge=1)
    overhead_seconds: float = Field(default=0.01, ge=0)
    mix: list[tuple[Positive, Annotated[int, Field(ge=1)]]] = Field(min_length=1)
    closed: list[tuple[Annotated[int, Field(ge=1)], Positive]] = []
    steps: list[tuple[Positive, Positive]] = []

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if bool(self.closed) is bool(self.steps):
            raise ValueError("give either closed or steps")
        return self

    @classmethod
    def read(cls, file: Path, most_segments: int) -> Self:
        """Read such a file, or the closed loops of ``make bench-overload``'s results.json."""
        content: dict[str, Any] = json.loads(file.read_text())
        if "loads" not in content:
            return cls.model_validate(content)
        loads = [load for load in content["loads"] if load["load"].startswith("closed, ")]
        rows = [(int(load["load"].split()[1]), load["goodput"]) for load in loads]
        mix = [(1.0, chars) for chars in OVERLOAD_CHARS]
        return cls(what=content["machine"], most_segments=most_segments, mix=mix, closed=rows)


@dataclass(frozen=True, slots=True)
class ReplicaModel:
    """One replica: seconds of a step by the segments that run, how many may run, a request's time outside the engine.

    ``mix``: shares and characters of requests. A request has so many ``segments`` and so much ``work`` (segments times tokens) in the mean.
    """

    steps: tuple[tuple[float, float], ...]
    most: int
    overhead: float
    mix: Sequence[tuple[float, int]]
    segments: float
    work: float

    @classmethod
    def of(cls, measured: ReplicaMeasurements) -> Self:
        """Take the measured steps, or find them behind the measured closed loops.

        In a closed loop of N requests that do X a second each takes N / X, less the overhead in the engine: that many
        seconds for its tokens, one a step. Where more segments are in hand than may run, all places are taken, and X
        alone says how long a step is.
        """
        shares = [share for share, _ in measured.mix]
        lengths = [text_segments(chars) for _, chars in measured.mix]
        segments, tokens = (fmean(values, shares) for values in zip(*lengths, strict=True))
        work = fmean(map(math.prod, lengths), shares)
        most, overhead = measured.most_segments, measured.overhead_seconds
        steps: dict[float, float] = {float(running): seconds for running, seconds in measured.steps}
        for at_once, rate in measured.closed:
            running = segments * (at_once - rate * overhead)
            if running < most:
                steps[max(1.0, running)] = (at_once / rate - overhead) / tokens
            else:  # of several such loops the one that got most done
                steps[float(most)] = min(steps.get(float(most), math.inf), most / (rate * work))
        slowest = itertools.accumulate((steps[running] for running in sorted(steps)), max)  # more never takes less time
        return cls(tuple(zip(sorted(steps), slowest, strict=True)), most, overhead, measured.mix, segments, work)

    def step(self, running: float) -> float:
        """Return the seconds of a step: between two measured ones on their line, outside the nearest."""
        for (fewer, less), (more, longer) in itertools.pairwise(self.steps):
            if fewer <= running <= more:
                return less + (longer - less) * (running - fewer) / (more - fewer)
        return self.steps[0][1] if running < self.steps[0][0] else self.steps[-1][1]

    def throughput(self, requests: float) -> float:
        """Return the requests a second that it completes while it has so many in hand."""
        running = min(self.most, requests * self.segments)
        return running / (self.step(running) * self.work)

    def seconds(self, chars: int, requests: float) -> float:
        """Return the latency of a request of that length that is one of so many in hand."""
        segments, tokens = text_segments(chars)
        in_hand = segments + (requests - 1) * self.segments
        turn = max(0.0, in_hand - self.most) / self.segments / self.throughput(math.inf)
        return self.overhead + turn + tokens * self.step(min(self.most, in_hand))

    @property
    def capacity(self) -> float:
        """Requests of the mix that it can do in a second at most."""
        return max(running / self.step(running) for running in range(1, self.most + 1)) / self.work
