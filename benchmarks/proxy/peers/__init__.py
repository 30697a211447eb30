"""Peers: the proxies that are compared, with their configuration and pinned packages.

- ``definitions``: the table of peers, and the environments of those that have packages of their own.
- ``asgi_aiohttp``: the least that a Python proxy of libraries costs.
"""
