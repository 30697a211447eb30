"""Admission and fair queueing for one engine.

- ``work_item``: one request.
- ``admission``: which requests a model accepts.
- ``throughput``: units per second while full.
- ``batch_slots``: the queue for a batch.
- ``queue_deadline``: how long a request may wait for its first slot.
- ``text_memory``: memory of all texts in flight.
- ``planning_queue``: the threads that plan long texts.
"""
