"""Replicas, and how they are: discovery, probing, leader lease, Redis, overrides.

- ``replica``: one API server as this proxy sees it.
- ``snapshot``: the whole fleet at one moment, indexed by pair.
- ``registry``: builds the snapshot, and shares the fleet's state with other proxies.
- ``prober``: asks replicas for their reports.
- ``leader_lease``: which proxy probes for all.
- ``discovery``: host names expanded to addresses.
- ``overrides``: what operators changed at run time.
- ``admin``: operators' commands on the registry.
- ``store``: the fleet in Redis.
"""
