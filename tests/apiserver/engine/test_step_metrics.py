"""Step metrics: engines' metrics by model name, and the step histogram."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Gauge, Histogram

from apiserver.engine.step_metrics import MAX_PENDING, EngineMetrics, StepHistogram
from shared.runtime.metrics import MergedCollector


def test_engine_metrics_add_a_missing_model_name() -> None:
    collectors: list[EngineMetrics] = []
    for model in ("a", "b"):
        registry = CollectorRegistry()
        Gauge("vllm:cache_config_info", "x", ["engine"], registry=registry).labels("0").set(1)
        Gauge("vllm:kv", "x", ["engine", "model_name"], registry=registry).labels("0", model).set(1)
        collectors.append(EngineMetrics(registry, model))
    merged = MergedCollector(*collectors)  # pyright: ignore[reportArgumentType] - collect() is all it needs
    series = [(sample.name, sample.labels["model_name"]) for metric in merged.collect() for sample in metric.samples]
    assert sorted(series) == [
        ("vllm:cache_config_info", "a"),
        ("vllm:cache_config_info", "b"),
        ("vllm:kv", "a"),
        ("vllm:kv", "b"),
    ]


def test_step_histogram_equals_an_ordinary_one() -> None:
    registries = CollectorRegistry(), CollectorRegistry()
    kept, counted = (
        kind("vllm:seconds", "…", ["model_name"], buckets=(0.1, 1.0), registry=registry).labels("en-de")
        for kind, registry in zip((StepHistogram, Histogram), registries, strict=True)
    )
    for values in ([0.0, 0.1, 0.5], [1.0, 7.0], [0.25] * (2 * MAX_PENDING + 1)):
        for value in values:
            kept.observe(value)
            counted.observe(value)
        said, wanted = (
            [sample for sample in next(iter(registry.collect())).samples if not sample.name.endswith("_created")]
            for registry in registries
        )
        assert said == wanted
