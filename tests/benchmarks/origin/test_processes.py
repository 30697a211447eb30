"""The designs as processes."""

from __future__ import annotations

import pytest

from benchmarks.origin.processes import environment


def test_environment_numbers_gpus_as_nvidia_smi(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    assert environment("cpu")["CUDA_VISIBLE_DEVICES"] == ""
    on_gpu = environment("cuda")
    assert (on_gpu["CUDA_DEVICE_ORDER"], on_gpu["CUDA_VISIBLE_DEVICES"]) == ("PCI_BUS_ID", "3")
