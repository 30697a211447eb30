"""Sending a request to a replica: retries, hedges, canary probes.

- ``forwarder``: tries replicas until one serves.
- ``retry_policy``: whether, when and where to retry.
- ``hedge``: a second attempt during a slow one.
- ``upstream_request``: one request to one replica.
- ``leg``: a request for one pair.
- ``canary_probes``: translations that test suspect replicas.
"""
