"""Prompts: families of models, templates, sampling.

- ``family``: prompts of one family of models.
- ``pair_prompt``: the prompt of one pair.
- ``builtin_prompts``: the families that Pairway knows.
- ``custom``: prompts written in a catalog.
- ``sampling``: how the next token is chosen.
"""
