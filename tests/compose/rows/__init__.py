"""Rows: what is done to the fleet while the load runs.

* ``row``: what a row is, and how one is measured.
* ``table``: all of them, in the order of the report.
* ``changes``, ``faults``, ``rolls``, ``model_change``: what they do.
"""
