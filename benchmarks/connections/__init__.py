"""Connections: what idle, slow and hostile clients do to a proxy and to its other clients.

- ``__main__``: the command line, the load alone and beside each group of clients, targets and tables.
- ``clients``: the burdensome clients, a process of their own.
- ``edge``: the edge of docker compose without Docker.
"""
