"""The table of metrics is that of the code, and names what both servers export."""

from __future__ import annotations

from apiserver.metrics import ApiServerMetrics
from proxy.metrics import ProxyMetrics
from tests.docs.metrics_reference import PAGE, PREFIXES, lines_of, page


def test_table_of_metrics_is_that_of_the_code() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run make metrics-reference"


def test_every_metric_has_a_line_with_its_labels() -> None:
    for metrics, prefix in zip((ProxyMetrics(), ApiServerMetrics()), PREFIXES, strict=True):
        lines = {f"{prefix}{line.name.removesuffix('_total')}": line for line in lines_of(metrics, prefix)}
        metrics.start_pair("en-de")
        for metric in metrics.registry.collect():
            if metric.name.startswith(prefix):
                found = {name for sample in metric.samples for name in sample.labels} - {"le"}
                assert found <= set(lines.pop(metric.name).labels), metric.name
        assert not lines
