"""uvicorn with limits and draining.

- ``draining_server``: the server under both apps, which drains before it stops.
- ``connection``: one client's connection, within the limits.
- ``limits``: the limits, and the cap on connections.
- ``uvicorn_protocol``: uvicorn's protocol, patched.
"""
