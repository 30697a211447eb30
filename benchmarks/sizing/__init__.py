"""Sizing: how much one engine should run at once, and how many replicas a load needs.

- ``__main__``: the plan: the search for the smallest fleet.
- ``fleet_model``: a fleet as a queue.
- ``replica_model``: one replica's speed from its measurements.
- ``tune``: throughput of an engine over its batch sizes.
"""
