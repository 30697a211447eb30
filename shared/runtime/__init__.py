"""The process: settings, logging, metrics, loops, exit codes.

- ``settings``: settings of both servers, from the environment.
- ``logging``: structured logs with the request's id.
- ``metrics``: Prometheus metrics of both servers.
- ``background``: loops that survive errors and report when they are stale.
- ``tasks``: tasks that end together, and work in a daemon thread.
- ``exit_codes``: exit codes, and a clean exit on signals.
- ``gc_tuning``: thresholds of the garbage collector.
- ``process_guard``: ends the children of a process that ended.
- ``ip_addresses``: loopback, and a client's network.
"""
