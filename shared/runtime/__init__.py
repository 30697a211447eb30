"""Process-level habits: settings, logging, metrics, loops, exit codes.

- ``settings``: settings from the environment that both servers share.
- ``logging``: structured logs with the request's id.
- ``metrics``: Prometheus metrics of both servers.
- ``background``: loops that survive errors and show when they are stale.
- ``tasks``: tasks that end together, and work in a daemon thread.
- ``exit_codes``: exit codes, and a clean exit on signals.
- ``gc_tuning``: thresholds of the garbage collector.
- ``process_guard``: ends what a process started when it is gone.
- ``ip_addresses``: loopback, and a client's network.
"""
