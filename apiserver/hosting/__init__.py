"""The life of one model: start, canaries, stalls, restarts.

- ``model_host``: starts, watches and restarts the engine.
- ``server_hosts``: how hosts are created, which run, and which serve which pairs.
- ``canary_checks``: short translations that show whether pairs work.
- ``stall_detector``: whether an engine makes progress.
- ``restart_backoff``: when the next start is due.
"""
