"""Waiting for an outcome instead of sleeping; the benchmarks wait the same way."""

from benchmarks.harness.waiting import Awake, wait_until

__all__ = ["Awake", "wait_until"]
