"""Replicas of the fleet and their state.

- ``replica``: one API server.
- ``snapshot``: the fleet at one moment.
- ``registry``: shares state with other proxies.
- ``prober``: requests replicas' reports.
- ``leader_lease``: elects the prober for all.
- ``discovery``: addresses of host names.
- ``overrides``: operators' changes.
- ``admin``: operators' commands.
- ``store``: the fleet in Redis.
"""
