"""Connections: what idle connections and slow clients do to a proxy and to its other clients.

Two files are enough for one scenario.

* ``__main__``: the command line, the phases, the targets and the report.
* ``clients``: the idle and slow clients, a process of their own.
"""
