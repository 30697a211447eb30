"""Proxy: CPU, throughput and latency of our proxy beside other ones.

* ``__main__``: the command line.
* ``peers``: the proxies that are compared.
* ``processes``: starts them, Redis and the replicas, each on its core.
* ``replica``: a replica that costs next to nothing.
* ``load``: a closed loop in a process of its own.
* ``http_reader``: a fast reader of HTTP responses.
* ``process_usage``: CPU and memory of a process tree.
* ``requests``: what is sent to the proxies.
* ``measurements``: medians and ratios over the rounds.
* ``report``: the tables.
"""
