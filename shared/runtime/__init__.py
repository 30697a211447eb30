"""The process: settings, logging, metrics, loops, exit codes.

- ``settings``: settings of both servers.
- ``logging``: structured logs; errors in operators' words.
- ``metrics``: Prometheus metrics.
- ``container_memory``: limits of control groups, and their metrics.
- ``background``: loops that survive errors; tasks that end together; growing pauses; whether every pair was ready once.
- ``exit_codes``: exit codes; clean exit and reload on signals.
- ``gc_tuning``: garbage collection.
- ``fork_server``: a process that has imported libraries and forks.
- ``forked_process``: its client, and its forks.
- ``process_guard``: ends orphaned processes.
- ``shared_rendering``: one rendering of an answer for all who ask meanwhile.
- ``turns``: callers in turn, in a queue, at a lock, in a thread and an event loop.
"""
