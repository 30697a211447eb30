"""Tests of the edge with the real nginx, in front of real proxies; ``make test-edge``.

- ``install``: nginx, into ``.cache``; ``make test-edge-setup``.
- ``running_edge``: the edge, its proxies and their replica.
- ``conftest``: the proxies, which all tests share.
"""
