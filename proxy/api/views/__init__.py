"""The JSON of the fleet's state: ``/health``, ``/fleet``, ``/status``.

- ``replica_view``: one replica in each depth.
- ``fleet_view``: the fleet in each depth, and the answers to operators' changes.
- ``issue_view``: what is wrong, for everybody and for operators.
- ``traffic_view``: figures and events of all proxies.
"""
