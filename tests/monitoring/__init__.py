"""Tests of what watches a fleet: rules, alerts and the metrics that they read, with a real Prometheus."""
