"""Nothing that a caller chooses stays in memory without a bound.

- ``places``: a place that callers' words can fill, and those of both servers.
- ``proxy_places``: those of the proxy.
- ``apiserver_places``: those of API servers.
- ``tables``: tables that are none, and why.
- ``server_process``: a server in a process of its own, which counts what it keeps.
- ``fresh_requests``: requests with values never seen before.
"""
