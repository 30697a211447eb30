"""Proxy: CPU, throughput and latency of our proxy beside other ones.

- ``__main__``: the command line.
- ``peers/``: the proxies that are compared.
- ``servers``: starts them, Redis and the replicas, each on its core.
- ``replica``: a replica that costs next to nothing.
- ``load``: a closed loop in a process of its own.
- ``http_client``: a fast HTTP client.
- ``process_usage``: CPU and memory of a process tree.
- ``requests``: what is sent to the proxies.
- ``measurements``: medians, ratios and targets over the rounds.
- ``report``: the tables.
"""
