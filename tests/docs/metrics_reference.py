"""Write the table of all metrics into docs/operations/metrics.md.

make metrics-reference
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from apiserver.metrics import ApiServerMetrics
from proxy.metrics import ProxyMetrics
from shared.runtime.metrics import ServerMetrics

PAGE: Final = Path(__file__).parents[2] / "docs/operations/metrics.md"
PREFIXES: Final = ("pairway_proxy_", "pairway_apiserver_")
HEAD: Final = """\
# All metrics

Made from the code by `make metrics-reference`; [monitoring.md](monitoring.md) says how to use them.

- A histogram has `…_bucket`, `…_count` and `…_sum`. Counters and histograms also have a gauge `…_created`, the Unix time of a series' beginning.
- `pair` is what was asked for, in the languages of models: `de-AT` into `fr` is `de-fr`. Those of retries, hedges and refusals for load are pairs of models. Unserved pairs, and those beyond 1,000 of a metric, are
  `other`; several detected languages or targets are `mixed`. `route` is how it was served: `de-en+en-fr`, or `none`.
- `outcome` of requests is `ok` or a problem's [code](../api.md#errors); a client that disconnected is `client-gone`. [`class`](monitoring.md#queries) says whose it is.
- `code` is that of an [issue](status-page.md#issues), `reason` of keyless refusals is explained [there](limits.md#before-a-key-is-known), `stage` and `guard` [there](monitoring.md#quality-of-translations).
- No label is a client's address or key.
- Both servers also have `process_cpu_seconds_total`, `process_resident_memory_bytes`, `process_virtual_memory_bytes`, `process_open_fds`, `process_max_fds`, `process_start_time_seconds`,
  `python_gc_collections_total`, `python_gc_objects_collected_total` and `python_gc_objects_uncollectable_total`: of the server's own process, without the engines.
- An API server adds vLLM's own metrics of each engine (`vllm:*`, label `model_name`), which are vLLM's to document.
"""


@dataclass(frozen=True, slots=True)
class MetricLine:
    """One metric, by its name without the server's prefix."""

    name: str
    kind: str
    labels: tuple[str, ...]
    meaning: str


def main() -> int:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")
    return 0


def page() -> str:
    """Return the page: metrics of both servers, then those of each."""
    proxy, apiserver = (
        {line.name: line for line in lines_of(metrics, prefix)}
        for metrics, prefix in zip((ProxyMetrics(), ApiServerMetrics()), PREFIXES, strict=True)
    )
    both = [
        replace(line, labels=shared_labels(line, apiserver[name])) for name, line in proxy.items() if name in apiserver
    ]
    parts = [HEAD, *table("Both servers", both, PREFIXES)]
    for title, lines, prefix in (("Proxy", proxy, PREFIXES[0]), ("API server", apiserver, PREFIXES[1])):
        own = [line for name, line in lines.items() if not (name in proxy and name in apiserver)]
        parts += table(title, own, (prefix,))
    return "\n".join(parts)


def lines_of(metrics: ServerMetrics, prefix: str) -> Iterator[MetricLine]:
    """Yield a server's own metrics, in the order of the code."""
    collectors = metrics.registry._collector_to_names  # pyright: ignore[reportPrivateUsage] - nothing public lists them
    for collector in collectors:
        labels = labels_of(collector)
        for metric in collector.collect():
            if metric.name.startswith(prefix):
                suffix = "_total" if metric.type == "counter" else ""
                name = f"{metric.name.removeprefix(prefix)}{suffix}"
                yield MetricLine(name, metric.type, labels, metric.documentation)


def labels_of(collector: object) -> tuple[str, ...]:
    """Return the names of a collector's labels, which each kind keeps in its own place."""
    if label := getattr(collector, "_label", None):
        return (label,)
    names: tuple[str, ...] = getattr(collector, "_label_names", None) or getattr(collector, "_labelnames", ())
    return tuple(names)


def shared_labels(proxy: MetricLine, apiserver: MetricLine) -> tuple[str, ...]:
    """Return the labels of a metric of both servers; one of them may lack some."""
    at_proxy = [each if each in apiserver.labels else f"{each} (proxy)" for each in proxy.labels]
    return (*at_proxy, *(f"{each} (API server)" for each in apiserver.labels if each not in proxy.labels))


def table(title: str, lines: list[MetricLine], prefixes: tuple[str, ...]) -> list[str]:
    """Return a section with the table of these metrics."""
    rows = [f"## {title}", "", "| metric | type | labels | meaning |", "|---|---|---|---|"]
    for line in lines:
        names = ", ".join(f"`{prefix}{line.name}`" for prefix in prefixes)
        rows.append(f"| {names} | {line.kind} | {', '.join(line.labels)} | {line.meaning} |")
    return [*rows, ""]


if __name__ == "__main__":
    sys.exit(main())
