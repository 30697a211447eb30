"""Designs: the servers that are compared.

- ``queue_design``: A, B and C, a queue and worker processes.
- ``async_engine``: D and F, handlers that await an AsyncLLM; and the bare engine.
- ``pairway_server``: E's API server, which records what its engine does.
- ``serving``: what A to D and F serve, and the record of their engines.
"""
