"""What a model is asked: prompt families, templates, sampling.

- ``family``: how models of one family are asked.
- ``pair_prompt``: the prompt of one pair, ready to be filled with a text.
- ``builtin``: the families that Pairway knows.
- ``custom``: prompts that a catalog writes out itself.
- ``template``: texts with slots in braces, filled safely.
- ``sampling``: how the next token is chosen, at first and at a retry.
"""
