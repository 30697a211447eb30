"""Scale: what many replicas, many pairs and several proxies cost.

- ``__main__``: the command line.
- ``fleet``: the replicas on paper: their pairs and what they report.
- ``replicas``: one process that reports for all of them.
- ``request_costs``: a request's share of CPU, without I/O.
- ``sweeps``: probing by HTTP and Redis, and real proxies.
- ``measurements``: the figures and their report.
"""
