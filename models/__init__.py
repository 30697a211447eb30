"""The demo translators: weights, training and evaluation.

- ``train``: trains a model for English and other languages.
- ``evaluate``: scores a model on a validation file.
- ``hold_out``: writes the held-out pairs of a file.
- ``offline_engine``: vLLM in this process, for evaluation.
- ``llama``: the network in plain torch.
- ``tokenizer``: the tokenizer, with language tokens and placeholders.
- ``corpus``: sentence pairs from a file.
- ``training``: what ``train`` is made of.
"""
