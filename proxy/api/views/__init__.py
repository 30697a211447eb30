"""The JSON of the fleet's state: ``/health``, ``/fleet``, ``/status``.

- ``replica_view``: one replica in each depth.
- ``health_view``: ``/health``.
- ``fleet_view``: ``/fleet``, and the answers to operators' changes.
- ``status_view``: ``/status/data``.
- ``diagnosis``: what is wrong with a replica or a pair, and its runbook.
- ``traffic_view``: figures and events of all proxies.
- ``language_list``: ``/languages``.
"""
