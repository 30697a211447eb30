"""Measurements; each module is one, run with ``python -m benchmarks.NAME``."""
