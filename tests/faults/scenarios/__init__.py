"""Scenarios: one fault each, under load, on a running fleet.

* ``table``: every scenario, in the order of the report.
* ``run``: load, fault, load in the fault, healing, load again; and the figures of it.
* ``clients``: bad requests, and clients that leave.
* ``replica``: faults of one of two replicas, or between it and the proxy.
* ``restarts``: SIGTERM, a rolling restart, all replicas gone.
* ``redis_and_proxies``: faults of Redis or of another proxy.
"""
