"""The choice of a replica for a request, without I/O.

The forwarder selects (``selector``), sends an attempt, and ``local_stats`` records its result.

- ``selector``: chooses a replica: the tiers, who is eligible, the score, the best of a few.
- ``local_stats``: this proxy's statistics: attempts, pairs, models' latencies.
- ``replica_stats``: statistics of one replica: requests, latency, capacity.
- ``circuit_breaker``: excludes failing replicas.
- ``outlier_detection``: suspects and stalls.
"""
