"""Connections: what idle connections and slow clients do to a proxy and to its other clients.

- ``__main__``: the command line.
- ``clients``: the idle and slow clients, a process of their own.
- ``phases``: the load alone, and beside each group of clients.
- ``report``: targets and tables.
"""
