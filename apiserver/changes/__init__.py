"""Model changes while serving: load beside, prove, switch, unload, roll back.

- ``__main__``: ``python -m apiserver.changes``, an operator's command line.
- ``model_changer``: an operator's calls, and the one change at a time.
- ``orders``: what operators may order.
- ``model_list``: the answer that lists the models.
- ``change_run``: the steps of one change.
- ``change``: one change's state, steps and outcome.
- ``plan``: which model a change replaces, and by what.
- ``memory``: whether a new model's memory suffices.
- ``machine_memory``: what the machine and its container have left.
"""
