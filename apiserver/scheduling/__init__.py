"""Admission and fair queueing in front of one engine.

- ``work_item``: one request on its way through the server.
- ``admission``: which requests a model accepts; the rest is refused at once.
- ``in_flight``: units of cost in flight, by caller and lane.
- ``throughput``: units of cost per second while the engine is full.
- ``batch_slots``: our own queue for an engine's batch: by lane, callers in turn.
"""
