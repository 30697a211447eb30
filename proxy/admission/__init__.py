"""Admission of requests under load, and of keyless bodies.

- ``controller``: admits or refuses a request.
- ``pair_load``: the load of a pair's replicas.
- ``fair_share``: each caller's units in flight.
- ``keyless_bodies``: bodies whose senders' keys are not known yet, by network.
- ``retry_after``: when a refused caller should retry.
"""
