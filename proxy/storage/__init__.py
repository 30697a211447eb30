"""Storage in the fleet's Redis; no other package knows it.

- ``connection``: connections, turns, time-outs and errors.
- ``redis_keys``: names of keys.
- ``scripts``: what Redis runs at once, as functions.
- ``records``: records with an index, compare-and-set.
- ``latest_copy``: this proxy's copy of records that all proxies change.
- ``latest_records``: these in Redis; the latest wins.
- ``recent_copies``: records read recently, for use while Redis is away.
- ``owned_records``: glossaries of owners.
- ``counters``: usage of keys.
- ``lease``: elects one proxy of all.
"""
