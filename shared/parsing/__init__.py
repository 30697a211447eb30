"""Parsers of request bodies, whose work and memory are bounded.

- ``json_reader``: members of JSON objects.
- ``form_body``: forms and query strings.
- ``request_parser``: translate requests.
- ``byte_budget``: the bytes that bodies may hold at once.
- ``long_bodies``: turns of long bodies.
"""
