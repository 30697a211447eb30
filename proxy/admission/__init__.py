"""Who is let in under load, and when a refused caller may try again.

- ``controller``: admit a request, or refuse it with a reason.
- ``pair_load``: how full the replicas of a pair are.
- ``fair_share``: what each caller of a model has in flight.
- ``retry_after``: in how many seconds refused callers are to come again.
"""
