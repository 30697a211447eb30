"""Sending a request to a replica: retries, hedges, canary probes.

- ``forwarder``: tries replicas until one serves.
- ``retry_policy``: whether, when and where to retry; the attempts so far.
- ``hedging``: a second attempt during a slow one.
- ``canary_probes``: translations that test suspect replicas.
"""
