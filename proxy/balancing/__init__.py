"""The choice of a replica: statistics, outliers, circuit breakers. Pure.

- ``selector``: filters a pair's replicas and selects one for a request.
- ``balancer``: picks the best of a few candidates drawn at random.
- ``local_stats``: this proxy's own statistics of all replicas and pairs.
- ``pair_stats``: statistics of one pair: latencies, outliers, suspects.
- ``replica_stats``: statistics of one replica, and of each pair that it serves.
- ``capacity``: the work that a replica's model can still accept.
- ``latency``: seconds per unit of work, of replicas and models; the delay of hedges.
- ``circuit_breaker``: excludes a replica for a pair after failures.
- ``outlier_detection``: suspects, failing replicas and stalls.
- ``attempt``: one request to one replica, and its result.
"""
