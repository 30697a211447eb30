"""Load: what sends a point's texts. Three files, for the harness has the rest.

* ``driver``: closed and open loops over the texts.
* ``http_clients``: the clients of every HTTP server.
* ``load_process``: a process that drives loads.
"""
