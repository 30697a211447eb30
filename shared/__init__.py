"""Code of both servers: languages, wire formats, HTTP helpers and process habits.

- ``languages``: BCP-47 tags, pairs, and which language can stand in for another.
- ``literals``: what survives translation as it is written: addresses, placeholders, quantities.
- ``version``: the version of Pairway.
- ``protocol/``: what crosses a socket: messages, errors, headers, deadlines.
- ``runtime/``: process habits: settings, logging, metrics, loops, exit codes.
- ``http/``: ASGI and response helpers.
- ``server/``: uvicorn with limits and draining.
"""
