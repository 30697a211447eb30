"""HTTP endpoints: parse, delegate, render.

- ``translate``: ``POST /translate``.
- ``client_request``: the body of ``POST /translate``.
- ``detect``: ``POST /detect``.
- ``exchange``: the entry of a request, the same for every API: its deadline, caller and body.
- ``translation_run``: an exchange that translates.
- ``compat/``: formats of other translation APIs.
- ``pages``: web pages.
- ``glossaries``: callers' glossaries.
- ``health``: health, languages, probes, usage.
- ``fleet``: the fleet, its overrides, live status, and metrics.
- ``keys``: API keys.
- ``views/``: the JSON of the fleet's state.
- ``auth``: authentication of callers.
- ``operators``: exchanges of operators and readers of the fleet's state.
"""
