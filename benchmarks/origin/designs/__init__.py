"""Designs: the servers that are compared.

- ``queue_service``, ``queue_worker``: A, B and C, a queue and worker processes.
- ``async_engine``: D and F, handlers that await an AsyncLLM.
- ``pairway_server``: E's API server, which records what its engine does.
- ``bare_engine``: an AsyncLLM without HTTP.
- ``http_api``: the HTTP API of A to D and F.
- ``engine_record``: what a design records of its engine.
"""
