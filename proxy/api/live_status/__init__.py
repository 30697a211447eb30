"""The live status of the fleet, for the page ``/status``.

- ``endpoints``: ``GET /status/data`` and ``GET /status/stream``.
- ``status_view``: their JSON.
- ``diagnosis``: what is wrong with a replica or a pair, and its runbook.
- ``traffic_view``: figures and events of all proxies.
"""
