"""HTTP endpoints: decode, hand to the exchange, encode.

- ``translate``: ``POST /translate``.
- ``detect``: ``POST /detect``.
- ``http_exchange``: exchanges of HTTP requests.
- ``compat/``: formats of other translation APIs.
- ``pages``: web pages.
- ``linked_files``: scripts and styles of pages, each with all that it imports.
- ``runbooks``: operators' documents, which the status page shows.
- ``glossaries``: callers' glossaries.
- ``health``: health, languages, probes, usage.
- ``fleet``: the fleet, its overrides, live status, and metrics.
- ``keys``: API keys.
- ``views/``: the JSON of the fleet's state.
- ``operators``: exchanges of operators and readers of the fleet's state.
"""
