"""Figures and events for the status page, shared through Redis.

- ``figures``: requests of ten seconds, and those of 15 minutes.
- ``fleet_event``: one event, and events of several proxies merged.
- ``event_detector``: events, from changes of the fleet's state.
- ``proxy_summary``: the record of one proxy in Redis.
- ``store``: all proxies' summaries in Redis.
- ``monitor``: the loop that closes figures, detects events and shares both.
- ``feed``: one rendering of the status for all viewers.
"""
