"""Figures and events for the status page, shared through Redis.

- ``figures``: requests of ten seconds, as differences of counters.
- ``figure_ring``: the figures of the last 15 minutes.
- ``fleet_event``: one event, and events of several proxies merged.
- ``event_detector``: events, from changes of the fleet's state.
- ``proxy_summary``: the record of one proxy in Redis.
- ``store``: all proxies' summaries in Redis.
- ``pair_expectations``: how many replicas each pair should have.
- ``monitor``: the loop that closes figures, detects events and shares both.
- ``feed``: one rendering of the status for all viewers.
"""
