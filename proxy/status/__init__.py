"""Figures and events for the status page, shared through Redis.

- ``figure_ring``: requests of ten seconds, and those of 15 minutes.
- ``fleet_event``: one event, and events of several proxies merged.
- ``event_detector``: events, from changes of the fleet's state.
- ``summary_store``: each proxy's summary, in Redis.
- ``monitor``: the loop that closes figures, detects events and shares both.
- ``feed``: one rendering of the status for all viewers.
"""
