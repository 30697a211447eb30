"""Overload: what a fleet does with up to four times as many requests as it can serve.

- ``__main__``: the command line and the tables.
- ``fleet``: Redis, API server and proxy with the real demo model.
- ``measurements``: what the answers of a load say together.
- ``scenarios``: what is sent, and the targets.
"""
