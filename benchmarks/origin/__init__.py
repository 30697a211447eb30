"""Origin: the experiment that the project began with, one model under several designs.

- ``__main__``: the command line.
- ``designs/``: the servers A to F and the bare engine.
- ``model``: the model under every design.
- ``texts``: the texts of every design.
- ``loads``: the load of one point.
- ``rounds``: the points, and their measurement.
- ``processes``: the designs as running processes.
- ``device_usage``: CPU and GPU over time.
- ``measurements``: figures of a point.
- ``report``: tables and targets.
- ``plots``: the figures drawn.
"""
