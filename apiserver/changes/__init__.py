"""Reload: serve what the catalog on disk says, without a gap.

- ``reloader``: an operator's calls, and the one reload at a time.
- ``plan``: what the catalog on disk says, and which entry replaces what.
- ``change_run``: one entry's change and its steps: load beside, prove, switch, unload.
- ``reports``: the JSON of ``/models``.
- ``memory``: whether a new model's memory suffices.
"""
