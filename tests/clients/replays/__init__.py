"""Requests of clients that cannot be installed here, byte for byte, one table for each client.

Paths, media types and bodies are those that the clients' own sources produce; other headers are the usual ones of their
HTTP libraries. ``$GOOD`` and the like stand for a key. Each entry says what the client reads of the answer, so what it needs.
"""
