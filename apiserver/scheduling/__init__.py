"""Admission and fair queueing in front of one engine.

- ``work_item``: one request on its way through the server.
- ``admission``: which requests a model accepts, and the units of cost that it has in flight.
- ``throughput``: units of cost per second while the engine is full.
- ``batch_slots``: our own queue for an engine's batch: by lane, callers in turn.
"""
