"""uvicorn with limits and draining.

- ``draining_server``: the server of both apps.
- ``connection``: one client's connection.
- ``limits``: sizes, timeouts, numbers of connections.
- ``uvicorn_protocol``: uvicorn's protocol, patched.
"""
