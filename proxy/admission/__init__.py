"""Admission of requests under load.

- ``controller``: admits or refuses a request.
- ``pair_load``: the load of a pair's replicas.
- ``fair_share``: each caller's units in flight.
- ``retry_after``: when a refused caller should retry.
"""
