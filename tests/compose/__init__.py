"""Compose file for real, under a keyed load: ``make compose-test``. It needs Docker with compose 2.24 or newer.

* ``rows``: what is done to the fleet.
* ``checkout``: the operator's folder: a copy of this checkout with an ``.env`` of its own.
* ``deployment``: the fleet in Docker, and everything removed at the end.
* ``commands``: programs as subprocesses.
* ``traffic``: the load on every pair.
* ``health_watch``: what ``/health`` said meanwhile.
* ``result``, ``report``: figures, targets, and their table.
* ``__main__``: the program.
* ``test_*``: tests of the parts that need no Docker.
"""
