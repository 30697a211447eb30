"""Proxy: CPU, throughput and latency of our proxy beside other ones.

- ``__main__``: the command line.
- ``peers/``: the proxies that are compared.
- ``servers``: starts them, Redis and the replicas, each on its core, and sends the load.
- ``measurements``: medians, ratios, targets and tables over the rounds.
"""
