"""Steps: what a call asks of its transport.

A call is a generator of steps that returns its result.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx

T = TypeVar("T")


@dataclass(slots=True)
class ApiRequest:
    """A request: ``safe`` says that sending it twice does no harm.

    ``accepted``: further statuses that are no errors.
    """

    method: str
    path: str
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    safe: bool = True
    accepted: frozenset[int] = frozenset()


@dataclass(slots=True)
class Send:
    """Request to send within these seconds; the outcome is Reply or Lost.

    ``opens``: leave the body of a good answer to be read as a stream.
    """

    request: ApiRequest
    seconds: float
    opens: bool = False


@dataclass(slots=True)
class Wait:
    """Pause of these seconds."""

    seconds: float


@dataclass(slots=True)
class Together:
    """Calls to run, at most so many at once.

    The outcome is the list of results; the first error ends all of them.
    """

    calls: Iterator[Call[Any]]
    concurrency: int


@dataclass(slots=True)
class Reply:
    """An answer; ``opened``: its body is still to be read."""

    status: int
    headers: httpx.Headers
    body: bytes
    opened: httpx.Response | None = None

    def members(self) -> dict[str, Any]:
        """Return the JSON object; raise ValueError or TypeError if it is none."""
        found: object = json.loads(self.body)
        if not isinstance(found, dict):
            raise TypeError("not a JSON object")
        return found  # pyright: ignore[reportUnknownVariableType] -- keys of JSON are strings


@dataclass(slots=True)
class Lost:
    """A request without an answer; ``sent``: the server may have seen it."""

    reason: str
    sent: bool
    timed_out: bool = False


Step = Send | Wait | Together
Call = Generator[Step, Any, T]
