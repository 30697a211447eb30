"""Admission and fair queueing in front of one engine.

- ``model_capacity``: one model's admission, throughput and slots, for reports and metrics.
- ``admission``: which requests a model accepts; the rest is refused at once.
- ``in_flight``: units of cost in flight, by caller and lane.
- ``throughput``: units of cost per second while the engine is full.
- ``batch_slots``: our own queue for an engine's batch.
- ``fair_queue``: the waiting segments of one lane, callers in turn.
- ``work_item``: what the texts of one request share in the queues.
"""
