"""Prompts: families of models, templates, sampling.

- ``family``: the prompts of one family of models.
- ``pair_prompt``: the prompt of one pair, ready to be filled with a text.
- ``builtin_prompts``: the families that Pairway knows.
- ``custom``: prompts written in a catalog.
- ``template_slots``: slots in braces of a template, filled safely.
- ``sampling``: how the next token is chosen, first and at a retry.
"""
