"""Figures and events for the status page, shared through Redis.

- ``figure_ring``: requests of ten seconds, and those of 15 minutes.
- ``fleet_event``: one event, and events of several proxies merged.
- ``diagnosis``: what is wrong with a replica or a pair, and its runbook.
- ``issues``: everything that is wrong now, from the fleet and the figures.
- ``issue_times``: since when, also before this proxy's start.
- ``event_detector``: events, from changes of the fleet's state.
- ``summary_store``: each proxy's summary, in Redis.
- ``monitor``: the loop that closes figures, detects events and shares both.
- ``feed``: one rendering of the status for all viewers.
"""
