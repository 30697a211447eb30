"""Proxy: tracks the fleet's health and routes requests by language pair.

- ``__main__``: one proxy, configured by the environment.
- ``app``: builds the app; the only place where all parts meet.
- ``context``: the app's parts, as endpoints reach them.
- ``settings``: what an operator can set.
- ``api/``: HTTP endpoints.
- ``translation/``: one request's pipeline.
- ``admission/``: who is let in under load.
- ``cache/``: translations kept or shared.
- ``forwarding/``: requests to replicas: retries, hedges, canary probes.
- ``call``: one client's request inside the proxy.
- ``balancing/``: which replica.
- ``keys/``: API keys.
- ``routing/``: languages, pairs, pivots.
- ``fleet/``: which replicas exist and how they are.
- ``upstream/``: the HTTP client for replicas.
- ``request_cost``: what a request costs a replica.
- ``urls``: URLs and addresses in settings.
- ``redis_client``: the connection to the fleet's Redis, and its keys.
- ``metrics``: every metric of a proxy.
"""
