"""Storage in the fleet's Redis; no other package knows it.

- ``connection``: connections, turns, time-outs, errors.
- ``redis_keys``: names of keys.
- ``scripts``: what Redis runs at once, as functions.
- ``records``: records, changed by compare-and-set, or of which the latest wins; counters of usage.
- ``period_counters``: usage in days and months.
- ``latest_copy``: this proxy's copy of records that all proxies change.
- ``recent_copies``: records read recently, for use while Redis is away.
- ``owned_records``: glossaries of owners.
- ``lease``: elects one proxy of all.
"""
