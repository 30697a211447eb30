"""The designs as processes."""

from __future__ import annotations

import pytest

from benchmarks.origin.processes import command_line, counted_work, environment


def test_environment_numbers_gpus_as_nvidia_smi(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    assert environment("cpu")["CUDA_VISIBLE_DEVICES"] == ""
    on_gpu = environment("cuda")
    assert (on_gpu["CUDA_DEVICE_ORDER"], on_gpu["CUDA_VISIBLE_DEVICES"]) == ("PCI_BUS_ID", "3")


def test_engine_work_from_metrics() -> None:
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
    assert counted_work(metrics) == (8, 2.5, 30, 200)


def test_command_line_of_engine_arguments() -> None:
    arguments = {"model": "/m", "enforce_eager": True, "enable_prefix_caching": False, "hf_overrides": {"head_dim": 64}}
    expected = ["--model", "/m", "--enforce-eager", "--no-enable-prefix-caching", "--hf-overrides", '{"head_dim": 64}']
    assert command_line(arguments) == expected
