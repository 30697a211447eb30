"""The life of one model: start, canaries, stalls, restarts.

- ``model_host``: starts, watches and restarts the engine.
- ``host_builder``: creates hosts.
- ``running_hosts``: the hosts that run, with their loops.
- ``routing``: which hosts serve which pairs.
- ``canary_checks``: short translations that test pairs.
- ``stall_detector``: whether an engine makes progress.
- ``restart_backoff``: when the next start is due.
"""
