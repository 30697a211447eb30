"""Admission of requests under load, and the time to retry.

- ``controller``: admits a request, or refuses it with a reason.
- ``pair_load``: the load of a pair's replicas.
- ``fair_share``: the cost units that each caller of a model has in flight.
- ``retry_after``: the seconds after which a refused caller should try again.
"""
