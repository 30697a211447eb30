"""The life of one model: start, canaries, stalls, restarts.

- ``model_host``: starts the engine, checks its pairs, watches and restarts it.
- ``canary_checks``: short translations that show whether pairs work.
- ``stall_detector``: whether an engine makes progress.
- ``restart_backoff``: when the next start is due.
"""
