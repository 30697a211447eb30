"""What the plots show."""

from __future__ import annotations

from typing import Any

from benchmarks.origin.plots import measured, medians


def row(kind: str, name: str, rate: float) -> dict[str, Any]:
    return {"kind": kind, "concurrency": 25, "name": name, "rate": rate}


def test_panels_without_figures_are_left_out() -> None:
    rows = [row("uniform", "D", 1.0), row("uniform", "D", 3.0), row("both", "F", 4.0)]
    panels = measured({kind: medians(rows, kind, "rate") for kind in ("uniform", "mixed", "both")})
    assert panels == {"uniform": {"D": {25: 2.0}}, "both": {"F": {25: 4.0}}}
