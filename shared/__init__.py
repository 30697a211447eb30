"""Code of both servers.

- ``languages``: BCP-47 tags, pairs, fit of served languages.
- ``ip_addresses``: loopback, and a client's network.
- ``literals``: parts of a text that stay unchanged.
- ``version``: the version of Pairway.
- ``protocol/``: formats on the wire.
- ``parsing/``: bodies as objects, in bounded work.
- ``runtime/``: settings, logging, metrics, loops, exit codes.
- ``http/``: ASGI and response helpers.
- ``server/``: uvicorn with limits and draining.
"""
