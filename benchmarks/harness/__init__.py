"""Harness: what every benchmark needs, and what tests need too.

- ``load``: the load generator: closed and open loops of whatever sends a request, and their result.
- ``http_load``: HTTP clients in a process of their own.
- ``http_client``: their connections.
- ``texts``: the texts that a load sends.
- ``processes``: the launcher: free ports, servers with logs, and small questions to them.
- ``replicas``: replicas that cost next to nothing.
- ``program``: the command line.
- ``waiting``: waiting for an outcome.
- ``report``: percentiles, targets, tables, and the folder of a run.
- ``engine``: one model on a real engine in this process, without HTTP.
"""
