"""One model's life: start, canaries, stalls, restarts.

- ``model_host``: starts the engine, checks its pairs, watches it, restarts it.
- ``canary_checks``: short translations that show that pairs really work.
- ``stall_detector``: whether an engine makes progress.
- ``restart_backoff``: when the next start is due.
"""
