"""What an engine did, from vLLM's metrics."""

from __future__ import annotations

from benchmarks.origin.engine_metrics import engine_totals


def test_engine_totals_from_metrics() -> None:
    metrics = """# TYPE vllm:request_success_total counter
vllm:request_success_total{finished_reason="stop",model_name="m"} 7.0
vllm:request_success_total{finished_reason="length",model_name="m"} 1.0
# TYPE vllm:e2e_request_latency_seconds histogram
vllm:e2e_request_latency_seconds_sum{model_name="m"} 2.5
# TYPE vllm:iteration_tokens_total histogram
vllm:iteration_tokens_total_count{model_name="m"} 30.0
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{model_name="m"} 200.0
"""
    assert engine_totals(metrics) == (8, 2.5, 30, 200)
