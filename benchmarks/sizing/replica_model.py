"""How fast one replica is, by what was measured of it: the service times of a fleet. Pure.

The measured file is JSON, one replica's::

    {"what": "en-de, 2 cores, 2026-11-21",           where the figures come from
     "most_segments": 64,                            the engine's max_num_seqs: steps of more do not count
     "overhead_seconds": 0.01,                       a request's time outside the engine
     "mix": [[0.6, 80], [0.3, 250], [0.1, 900]],     shares of requests, characters of each
     "closed": [[1, 10.5], [8, 45.2], [32, 60.0]]}   requests at once, requests done in a second (of this mix)

or, instead of ``closed``, ``"steps": [[8, 0.0083], [16, 0.0092]]``: segments that run, seconds of a step (``make tune``).
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any, Final, Self

import numpy as np
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
    most_segments: int | None = Field(default=None, ge=1)
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
    def read(cls, file: Path) -> Self:
        """Read such a file, or the closed loops of ``make bench-overload``'s results.json."""
        content: dict[str, Any] = json.loads(file.read_text())
        if "loads" not in content:
            return cls.model_validate(content)
        loads = [load for load in content["loads"] if load["load"].startswith("closed, ")]
        rows = [(int(load["load"].split()[1]), load["goodput"]) for load in loads]
        return cls(what=content["machine"], mix=[(1.0, chars) for chars in OVERLOAD_CHARS], closed=rows)


class ReplicaModel:
    """One replica: requests that it completes in a second, and how long they take, by how many it has in flight."""

    def __init__(self, measured: ReplicaMeasurements) -> None:
        """Take the measured closed loops, or find them behind the measured steps, of which each makes a token of every segment."""
        self.mix = measured.mix
        self._overhead = measured.overhead_seconds
        shares = [share for share, _ in measured.mix]
        lengths = [text_segments(chars) for _, chars in measured.mix]
        self._tokens = fmean((tokens for _, tokens in lengths), shares)
        work = fmean(map(math.prod, lengths), shares)
        # More in flight at once never makes it slower: a loop that did less than a smaller one met a busy machine.
        curve: list[tuple[float, float]] = []
        for at_once, rate in sorted(measured.closed):
            curve.append((at_once, max([rate, *(each for _, each in curve)])))
        for running, seconds in sorted(measured.steps):
            if measured.most_segments is None or running <= measured.most_segments:
                rate = running / (seconds * work)
                curve.append((rate * (seconds * self._tokens + self._overhead), rate))
        self._in_hand, self._rates = zip((0.0, 0.0), *curve, strict=True)

    def throughput(self, requests: float) -> float:
        """Return the requests a second that it completes while it has so many in flight."""
        return float(np.interp(requests, self._in_hand, self._rates))

    def seconds(self, chars: int, requests: float) -> float:
        """Return the latency of a request of that length that is one of so many in flight: by Little's law and its tokens."""
        in_engine = requests / self.throughput(requests) - self._overhead
        return self._overhead + in_engine * text_segments(chars)[1] / self._tokens

    @property
    def capacity(self) -> float:
        """Requests of the mix that it completes in a second, however many it has in flight."""
        return self._rates[-1]
