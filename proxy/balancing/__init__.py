"""Which replica: statistics, outliers, breakers, the pick. Pure.

- ``selector``: filter a pair's replicas and select one for a request.
- ``balancer``: the pick: the best of a few candidates drawn at random.
- ``local_stats``: what this proxy has seen of all replicas and pairs.
- ``pair_stats``: statistics of one pair: latencies, outliers, suspects.
- ``replica_stats``: statistics of one replica, and of each pair that it serves.
- ``capacity``: how much a replica's model still takes on.
- ``latency``: seconds per unit of work, of replicas and models; when a slow request is hedged.
- ``circuit_breaker``: whether a replica may be asked for a pair.
- ``outlier_detection``: suspects, failing replicas and stalls.
- ``attempt``: one request at one replica, and its result.
"""
