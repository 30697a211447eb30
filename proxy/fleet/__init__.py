"""Replicas of the fleet and their state.

- ``replica``: one API server.
- ``snapshot``: the fleet at one moment.
- ``registry``: shares state with other proxies.
- ``prober``: requests replicas' reports.
- ``discovery``: addresses of host names.
- ``expected_replicas``: how many a service, and a pair, should have.
- ``overrides``: operators' changes.
- ``admin``: operators' commands.
- ``store``: the fleet in Redis.
"""
