"""HTTP endpoints: decode, hand to the exchange, encode.

- ``translate``: ``POST /translate``.
- ``detect``: ``POST /detect``.
- ``http_exchange``: exchanges of HTTP requests.
- ``compat/``: formats of other translation APIs.
- ``pages/``: web pages.
- ``glossaries``: callers' glossaries.
- ``status``: health, languages, probes, usage.
- ``fleet``: the fleet, its overrides, and metrics.
- ``keys``: API keys.
- ``health_view``: the JSON of ``/health`` and ``/languages``.
- ``fleet_view``: the JSON of ``/fleet``.
- ``live_status/``: the data of the status page.
- ``operators``: exchanges of operators and readers of the fleet's state.
"""
