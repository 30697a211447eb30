"""The choice of a replica for a request, without I/O.

The forwarder selects (``selector``), sends an ``attempt``, and ``local_stats`` records its result.

- ``selector``: chooses a replica.
- ``balancer``: picks the best of a few.
- ``local_stats``: this proxy's statistics.
- ``pair_stats``: statistics of one pair.
- ``replica_stats``: statistics of one replica.
- ``capacity``: work that a model can accept.
- ``latency``: seconds per unit, and hedges.
- ``circuit_breaker``: excludes failing replicas.
- ``outlier_detection``: suspects and stalls.
- ``attempt``: one request to one replica.
"""
