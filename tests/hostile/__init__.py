"""Hostile inputs: no text, body or head stops an event loop, or costs more than its length.

- ``texts``, ``bodies``: the inputs, by size; ``seeds/``: texts that searches found.
- ``endpoints``: the table of all endpoints with the inputs of each.
- ``bursts``, ``lists``: many requests at once, and requests of many texts.
- ``servers``: proxies and an API server as processes, with 100 languages and every prompt family.
- ``launch``, ``probe``, ``echo_engine``: what runs in them beside the product.
- ``measuring``: processor time and longest stall of one request.
- ``run``, ``sample``: all rows, and the gate's.
- ``__main__``: ``make bench-hostile``.
"""
