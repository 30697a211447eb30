"""Sending a request to a replica: retries, hedges, canary probes.

- ``forwarder``: sends a request to replicas until one serves it.
- ``retry_policy``: decides whether, when and where a request is sent again, within a budget.
- ``hedge``: a second attempt during a slow first one.
- ``upstream_request``: one request to one replica, and its result.
- ``leg``: a request for one pair, and its attempts so far.
- ``canary_probes``: small real translations that test suspect replicas.
"""
