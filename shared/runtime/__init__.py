"""The process: settings, logging, metrics, loops, exit codes.

- ``settings``: settings of both servers.
- ``logging``: structured logs.
- ``metrics``: Prometheus metrics.
- ``background``: loops that survive errors.
- ``startup_check``: whether every pair was ready once.
- ``tasks``: tasks that end together; daemon threads.
- ``error_text``: errors in operators' words.
- ``exit_codes``: exit codes; clean exit and reload on signals.
- ``exponential_backoff``: growing pauses before restarts.
- ``gc_tuning``: garbage collection.
- ``process_guard``: ends orphaned processes.
- ``loop_turns``: little short work in each turn of an event loop.
- ``fair_queue``: callers in turn; a thread that serves them.
"""
