"""The model of every design."""

from __future__ import annotations

from benchmarks.origin.workload.model import command_line


def test_command_line_of_engine_arguments() -> None:
    arguments = {"model": "/m", "enforce_eager": True, "enable_prefix_caching": False, "max_num_seqs": 64}
    assert command_line(arguments) == [
        "--model",
        "/m",
        "--enforce-eager",
        "--no-enable-prefix-caching",
        "--max-num-seqs",
        "64",
    ]
