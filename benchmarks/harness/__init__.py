"""Harness: what every benchmark needs.

* ``engine``: one model on a real engine in this process, without HTTP.
* ``load``: HTTP clients in a process of their own, open and closed loops.
* ``texts``: the mix of texts that the loads send.
"""
