"""Sends a request to a replica: retries, hedges, canary probes.

- ``forwarder``: sends a request to replicas until one serves it.
- ``retry_policy``: decides whether, when and where a request is sent again, within a budget.
- ``hedge``: a second attempt beside a slow first one.
- ``upstream_request``: one request to one replica, and what its response means.
- ``leg``: what is sent for one pair, and the attempts so far.
- ``canary_probes``: tiny translations that try out replicas in doubt.
"""
