"""The choice of a replica for a request. Pure.

- ``selector``: chooses the replica for one attempt.
- ``balancer``: picks the best of a few.
- ``local_stats``: this proxy's own statistics.
- ``pair_stats``: statistics of one pair.
- ``replica_stats``: statistics of one replica.
- ``capacity``: the work a replica's model can accept.
- ``latency``: seconds per unit of work, and hedges.
- ``circuit_breaker``: excludes a replica after failures.
- ``outlier_detection``: suspects, failing replicas and stalls.
- ``attempt``: one request to one replica.
"""
