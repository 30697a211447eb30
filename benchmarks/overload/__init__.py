"""Overload: what a fleet does with up to four times as many requests as it can serve.

- ``__main__``: the command line and the tables.
- ``measurements``: what the answers of a load say together.
- ``scenarios``: the fleet, what it is sent, and the targets.
"""
