"""The targets of the Makefile: each in its smallest form, or the reason why none is run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True)
class SmallForm:
    """A target with the variables of its smallest form.

    ``says``: what its output has where so small a run misses the target's own limits, and fails.
    """

    target: str
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    says: str = ""


def _measured(target: str, **variables: str) -> SmallForm:
    return SmallForm(target, variables, says="written to ")


_MODEL: Final = {"PAIRS": "pairs", "MODELS": "en-de"}

# In this order; a later one may read the report of an earlier one.
RUN: Final = (
    SmallForm("help"),
    SmallForm("environment"),
    SmallForm("dev"),
    SmallForm("python"),
    SmallForm("client-reference"),
    SmallForm("metrics-reference"),
    SmallForm("dashboards"),
    SmallForm("browser"),
    SmallForm("bench-guards", {"PAIRS": "pairs"}),
    SmallForm("tune", {"PAIRS": "pairs", "MODEL": "en-de", "SEQS": "8", "TOKENS": "512", "SECONDS": "1"}),
    _measured("bench-quality", **_MODEL, LIMIT="5", PARTS="sentences"),
    SmallForm("shown-sentences"),
    SmallForm("calibrate", {**_MODEL, "LIMIT": "20"}, says="it stays uncalibrated"),
    SmallForm("bench-confidence", {**_MODEL, "TEXTS": "5", "SECONDS": "1"}),
    _measured("bench-overload", PAIRS="pairs", SECONDS="1", PARTS="callers"),
    SmallForm("plan", {"RATE": "1", "P95": "60"}),
    _measured(
        "bench-origin",
        PAIRS="pairs",
        ROUNDS="1",
        SECONDS="1",
        CONCURRENCY="2",
        ARCHITECTURES="D,E",
        KINDS="uniform",
        OPEN="1",
        TEXTS="20",
    ),
    SmallForm("bench-origin-plots"),
    _measured("bench-connections", KINDS="silent", HOLD="1"),
    _measured("bench-hostile", ROWS="POST /detect: JSON lists", DOUBLINGS="1"),
    _measured("bench-proxy", PEERS="direct,pairway", ROUNDS="1", SECONDS="1", CONCURRENCY="1"),
    _measured(
        "bench-scale", REPLICAS="4", PAIR_COUNT="4", ROUNDS="1", SECONDS="1", SHAPES="specialists", PARTS="health"
    ),
    _measured("bench-page", ROUNDS="1", SECONDS="1"),
    _measured("bench-start", PARTS="alone", MODELS="1", ROUNDS="1"),
    _measured("bench-client", ROUNDS="1", CALLS="50", TEXTS="300"),
    _measured("request-path"),
    _measured("faults", ROWS="none", SECONDS="1"),
    # So short a quiet time ends before the connections of the load do.
    SmallForm("soak", {"MINUTES": "0.05", "SEED": "1"}, says="faults: "),
    SmallForm("screenshots"),
)
# Run by the test of `make up` while that runs.
BESIDE_UP: Final = ("keys", "bench-long")
# Not run, with the reason; their arguments parse, and the files that they name exist.
PARSED: Final[Mapping[str, str]] = {
    "clean": "removes the environment",
    "lock": "asks the package index for newer versions",
    "audit": "asks a database of faults",
    "pin-images": "asks a registry",
    "roll": "needs Docker",
    "compose-test": "needs Docker",
    "check": "a part of make test",
    "fuzz": "the property tests are a part of make test",
    "clients": "a part of make test-clients",
    "test": "runs these tests",
    "test-all": "runs these tests",
    "test-fast": "a part of make test",
    "test-clients": "a part of make test-all",
    "test-page": "a part of make test-all",
    "test-setup": "a part of make test-page",
    "test-edge": "a part of make test-all",
    "test-edge-setup": "a part of make test-edge",
    "test-monitoring": "a part of make test-all",
    "test-monitoring-setup": "a part of make test-monitoring",
    "test-smoke": "runs these tests",
}
