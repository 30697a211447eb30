"""Origin: the experiment that the project began with, one model under several designs.

- ``__main__``: the command line.
- ``designs/``: the servers A to F and the bare engine.
- ``workload/``: the model and the texts.
- ``load_driver``: sends the load of one point.
- ``http_clients``: the clients of every HTTP server.
- ``load_points``: which loads are measured, and in which order.
- ``rounds``: measures every point.
- ``processes``: starts every design.
- ``engine_metrics``: what an engine did at a point.
- ``device_usage``: CPU and GPU over time.
- ``report/``: figures, targets, tables and plots.
"""
