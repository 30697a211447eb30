"""Proxy: tracks the fleet's health and routes requests by language pair.

- ``__main__``: runs one proxy, configured by the environment, or a command.
- ``commands/``: commands for operators on Redis itself.
- ``app``: the apps of both ports.
- ``context_builder``: the composition root.
- ``context``: the app's parts, for endpoints.
- ``settings``: the settings.
- ``api/``: HTTP endpoints.
- ``exchange/``: one request, whatever its transport.
- ``translation/``: the pipeline of one request.
- ``admission/``: which requests are accepted under load.
- ``cache/``: stored translations, and requests that share one computation.
- ``forwarding/``: requests to replicas: retries, hedges, canary probes.
- ``call``: one client request, its cost and its legs.
- ``balancing/``: the choice of a replica.
- ``glossaries/``: callers' dictionaries, applied as terms.
- ``status/``: figures and events for the status page.
- ``keys/``: API keys.
- ``routing/``: languages, pairs, pivots.
- ``fleet/``: which replicas exist and their state.
- ``upstream/``: the HTTP client for replicas.
- ``urls``: validators of URLs and addresses.
- ``storage/``: what is kept in the fleet's Redis.
- ``metrics``: every metric of a proxy.
"""
