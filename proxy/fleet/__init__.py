"""Replicas of the fleet and their state.

- ``replica``: one API server as this proxy sees it.
- ``snapshot``: the whole fleet at one moment, indexed by pair.
- ``registry``: builds the snapshot, and shares the state of the fleet with other proxies.
- ``prober``: requests the reports of replicas.
- ``leader_lease``: makes one proxy the prober for all.
- ``discovery``: expands host names to addresses.
- ``overrides``: operators' changes at run time.
- ``admin``: operators' commands on the registry.
- ``store``: the fleet in Redis.
"""
