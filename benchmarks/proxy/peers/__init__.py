"""Peers: the proxies that are compared, with their configuration and pinned packages.

- ``definitions``: the table of peers.
- ``environment``: a virtual environment for each peer that has packages of its own.
- ``asgi_aiohttp``: the least that a Python proxy of libraries costs.
"""
