"""Origin: the experiment that the project began with, one model under several designs.

- ``__main__``: the command line.
- ``designs/``: the servers A to F and the bare engine.
- ``model``: the model under every design.
- ``texts``: the texts of every design.
- ``loads``: sends the load of one point.
- ``points``: which loads are measured, and in which order.
- ``rounds``: measures every point.
- ``processes``: starts every design.
- ``device_usage``: CPU and GPU over time.
- ``measurements``: figures of a point.
- ``targets``: what is promised of them.
- ``tables``: the report in Markdown.
- ``plots``: the figures drawn.
"""
