"""Admission and fair queueing in front of one engine.

- ``work_item``: one request, from its admission to its last segment.
- ``admission``: which requests a model accepts, and its cost units in flight.
- ``throughput``: cost units per second while the engine is full.
- ``batch_slots``: the queue for an engine's batch: by lane, callers in turn.
"""
