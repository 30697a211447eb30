"""Code of both servers: languages, wire formats, HTTP and process helpers.

- ``languages``: BCP-47 tags, pairs, and which served language fits a requested one.
- ``literals``: parts of a text that stay unchanged: addresses, placeholders, quantities.
- ``version``: the version of Pairway.
- ``protocol/``: formats on the wire: messages, errors, headers, deadlines.
- ``runtime/``: the process: settings, logging, metrics, loops, exit codes.
- ``http/``: ASGI and response helpers.
- ``server/``: uvicorn with limits and draining.
"""
