"""Reload: serve what the catalog on disk says, without a gap.

- ``__main__``: ``python -m apiserver.changes``, an operator's command line.
- ``reloader``: an operator's calls, and the one reload at a time.
- ``plan``: what the catalog on disk says, and which entry replaces what.
- ``change_run``: the steps of one entry's change: load beside, prove, switch, unload.
- ``change``: one change's state, steps and outcome.
- ``reports``: the JSON of ``/models``.
- ``memory``: whether a new model's memory suffices.
"""
