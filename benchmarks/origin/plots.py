"""The experiment's figures drawn, the article's beside ours: ``python -m benchmarks.origin.plots OUT``.

Needs matplotlib (requirements/plots.txt) and nothing else of Pairway's, so any environment will do.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import Any, Final

# Published by the origin's authors: concurrency → requests/s, and → seconds.
PUBLISHED_RATES: Final = {"A": {1: 3.3, 25: 2.2}, "D": {25: 15.0}}
PUBLISHED_SECONDS: Final = {"A": {1: 1.4, 25: 11.3}}
# Rate as so many times A's, 25 at once: "nearly 3 times", "about 7 times".
PUBLISHED_TIMES: Final = {"A": 1.0, "C": 3.0, "D": 7.0}
# Seconds named on a logarithmic axis.
LATENCIES: Final = (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50)
KINDS: Final = ("uniform", "mixed")
CONCURRENCIES: Final = (1, 2, 5, 10, 25, 64)
COLOURS: Final = {
    "A": "tab:red",
    "B": "tab:brown",
    "C": "tab:orange",
    "D": "tab:green",
    "E": "tab:blue",
    "F": "tab:olive",
    "bare": "black",
    "openai": "tab:purple",
}
# Whose CPU and GPU are drawn over time.
DEVICES_OF: Final = ("A", "D", "E")
Lines = dict[str, dict[int, float]]


def medians(rows: list[dict[str, Any]], kind: str, field: str, scale: float = 1.0) -> Lines:
    """Return the median over the rounds by design and concurrency."""
    values: defaultdict[str, defaultdict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row["kind"] == kind and row["concurrency"] and row[field] is not None:
            values[row["name"]][row["concurrency"]].append(scale * row[field])
    return {
        name: {at: median(figures) for at, figures in sorted(values[name].items())}
        for name in COLOURS
        if name in values
    }


def times_a(rates: Lines) -> dict[str, float]:
    """Return each design's rate at 25 as so many times A's; empty where A was not measured."""
    a = rates.get("A", {}).get(25)
    return {name: by[25] / a for name, by in rates.items() if 25 in by} if a else {}


def measured(panels: dict[str, Any]) -> dict[str, Any]:
    """Return the panels that have something to show: a run may leave kinds of texts and designs out."""
    return {title: panel for title, panel in panels.items() if panel}


def main() -> int:
    """Draw what OUT/results.json holds."""
    try:
        plt = importlib.import_module("matplotlib.pyplot")
    except ImportError:
        print("no plots: no matplotlib here. pip install -r requirements/plots.txt, in any environment")
        return 1
    plt.switch_backend("agg")
    out = Path(sys.argv[1])
    rows: list[dict[str, Any]] = json.loads((out / "results.json").read_text())["rows"]
    rates = {kind: medians(rows, kind, "rate") for kind in (*KINDS, "both")}
    latency = {"published": PUBLISHED_SECONDS, **{kind: medians(rows, kind, "p50", 0.001) for kind in KINDS}}
    times = {"published": PUBLISHED_TIMES, **{kind: times_a(rates[kind]) for kind in KINDS}}
    uniform = [row for row in rows if row["kind"] == "uniform"]
    figures = {
        "throughput": _lines(plt, measured({"published": PUBLISHED_RATES, **rates}), ylabel="texts/s", ylim=(0, None)),
        "latency": _lines(plt, measured(latency), ylabel="seconds (p50)", yscale="log"),
        "times": _times(plt, measured(times)),
        "busyness": _busyness(plt, [row for row in uniform if row["steps"]]),
        "devices": _devices(plt, [row for row in uniform if (row["concurrency"], row["round"]) == (25, 0)]),
        "cpu": _cpu(plt, [row for row in uniform if row["concurrency"] == 64]),
    }
    for name, figure in measured(figures).items():
        figure.tight_layout()
        figure.savefig(out / f"{name}.png", dpi=120)
    print(f"plots are in {out}")
    return 0


def _lines(plt: Any, panels: dict[str, Lines], **settings: Any) -> Any:
    figure, all_axes = plt.subplots(1, len(panels), figsize=(5 * len(panels), 4), squeeze=False)
    for axes, (title, series) in zip(all_axes[0], panels.items(), strict=True):
        for name, values in series.items():
            axes.plot(list(values), list(values.values()), "o-", color=COLOURS[name], label=name)
        axes.set(title=title, xlabel="at once", xscale="log", **settings)
        if "yscale" in settings:
            axes.set_yticks(LATENCIES, [f"{seconds:g}" for seconds in LATENCIES])
        axes.set_xticks(CONCURRENCIES, list(map(str, CONCURRENCIES)))
        axes.minorticks_off()
        axes.legend()
    return figure


def _times(plt: Any, panels: dict[str, dict[str, float]]) -> Any:
    figure, all_axes = plt.subplots(1, len(panels), figsize=(4 * len(panels), 4), squeeze=False)
    for axes, (title, times) in zip(all_axes[0], panels.items(), strict=True):
        bars = axes.bar(list(times), list(times.values()), color=[COLOURS[name] for name in times])
        axes.bar_label(bars, fmt="%.1f")
        axes.margins(y=0.1)
        axes.set(title=f"{title}, 25 at once", ylabel="times A's texts/s")
    return figure


def _stacked(plt: Any, count: int, title: str, height: float) -> tuple[Any, Any]:
    """Return a figure over seconds with so many axes, one below the other."""
    figure, all_axes = plt.subplots(count, 1, figsize=(10, height * count), sharex=True, squeeze=False)
    all_axes[0][0].set_title(title)
    all_axes[-1][0].set_xlabel("seconds")
    return figure, all_axes[:, 0]


def _busyness(plt: Any, rows: list[dict[str, Any]]) -> Any:
    if not rows:
        return None
    figure, all_axes = _stacked(plt, len(rows), "batch of each engine step, 25 at once, uniform", 1.3)
    for axes, row in zip(all_axes, sorted(rows, key=lambda row: row["name"]), strict=True):
        times, batches = zip(*row["steps"], strict=True)
        axes.vlines(times, 0, batches, color=COLOURS[row["name"]], linewidth=0.7)
        axes.set(ylabel=row["name"], ylim=(0, 30))
    return figure


def _devices(plt: Any, rows: list[dict[str, Any]]) -> Any:
    rows = [row for name in DEVICES_OF for row in rows if row["name"] == name and row["cpu_timeline"]]
    if not rows:
        return None
    title = "CPU of all processes of a design, and GPU where there is one: 25 at once, uniform"
    figure, all_axes = _stacked(plt, len(rows), title, 2)
    most = max(cores for row in rows for _, cores in row["cpu_timeline"])
    for axes, row in zip(all_axes, rows, strict=True):
        axes.plot(*zip(*row["cpu_timeline"], strict=True), color=COLOURS[row["name"]])
        axes.set(ylabel=f"{row['name']}: cores", ylim=(0, 1.1 * most))
        if row["gpu_timeline"]:
            times, busy, _ = zip(*row["gpu_timeline"], strict=True)
            beside = axes.twinx()
            beside.plot(times, busy, "--", color="grey")
            beside.set(ylabel="GPU busy, % (dashed)", ylim=(0, 105))
    return figure


def _cpu(plt: Any, rows: list[dict[str, Any]]) -> Any:
    # One request in a step costs ten times as much: beside A and B nothing could be told apart.
    names = [name for name in COLOURS if name not in ("A", "B") and any(row["name"] == name for row in rows)]
    if not names:
        return None
    bottom = [0.0] * len(names)
    figure, axes = plt.subplots(figsize=(8, 4))
    for role in dict.fromkeys(role for row in rows for role in row["cpu_ms"]):
        heights = [median(row["cpu_ms"].get(role) or 0.0 for row in rows if row["name"] == name) for name in names]
        axes.bar(names, heights, bottom=bottom, label=role)
        bottom = [below + height for below, height in zip(bottom, heights, strict=True)]
    axes.set(title="CPU for a text, 64 at once, uniform (without A and B)", ylabel="ms")
    axes.legend()
    return figure


if __name__ == "__main__":
    sys.exit(main())
