"""Requests of clients that cannot be installed here, byte for byte, one table for each client.

The bytes are those that the clients' own sources produce; ``$GOOD`` and the like stand for a key. Each entry says what
the client reads of the answer, so what it needs.
"""
