"""A scrape of a real proxy and of a real API server with scripted engines, after some requests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from prometheus_client.parser import text_string_to_metric_families

from tests.apiserver.conftest import serving, settings_in
from tests.proxy.proxies import proxy
from tests.support.scripted_engine import ScriptedFactory

# What Prometheus itself adds to each series.
TARGET_LABELS: Final = frozenset({"job", "instance"})


@dataclass(frozen=True, slots=True)
class Scrape:
    """The names of all metrics, and the labels of those that have series."""

    names: frozenset[str]
    labels: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])


def parsed(*texts: str) -> Scrape:
    """Return what scrapes contain; ``up`` is Prometheus' own."""
    labels = {"up": TARGET_LABELS}
    for name, of_sample in _samples(*texts):
        labels[name] = labels.get(name, TARGET_LABELS) | of_sample
    # Also those that have no series yet.
    families = [family for text in texts for family in text_string_to_metric_families(text)]
    gauges = {family.name for family in families if family.type == "gauge"}
    counters = {f"{family.name}_total" for family in families if family.type == "counter"}
    return Scrape(frozenset(labels) | gauges | counters, labels)


def _samples(*texts: str) -> Iterator[tuple[str, frozenset[str]]]:
    for text in texts:
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                yield sample.name, frozenset(sample.labels)


async def scraped(folder: Path) -> Scrape:
    """Start both servers, translate, and scrape them once."""

    async def resolver(_: str) -> list[str]:
        return ["127.0.0.1"]

    async with serving(ScriptedFactory(), settings_in(folder)) as served:
        await served.until_ready()
        async with proxy([f"http://apiserver:{served.port}"], resolver=resolver, cache_bytes=1 << 20) as running:
            for text, target in (("Hello", "de"), ("Hello", "fr"), ("Hello", "xx")):
                await running.translate(text, "en", target)
            return parsed(*[(await client.get("/metrics")).text for client in (running.client, served.client)])
