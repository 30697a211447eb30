"""What a model is asked: prompt families, templates, sampling.

- ``family``: how models of one family are asked.
- ``pair_prompt``: the prompt of one pair, ready to be filled with a text.
- ``builtin_prompts``: the prompt templates of the families that Pairway knows.
- ``custom``: prompts that a catalog writes out itself.
- ``template_slots``: slots in braces of a template, filled safely.
- ``sampling``: how the next token is chosen, at first and at a retry.
"""
