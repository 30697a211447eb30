"""The demo translators: weights, training and evaluation.

- ``train``: trains a model for English and one other language.
- ``evaluate``: scores a model on a validation file.
- ``offline_engine``: vLLM in this process, for evaluation.
- ``llama``: the network in plain torch.
- ``tokenizer``: the tokenizer of one language pair.
- ``corpus``: sentence pairs from a file.
- ``batches``: training examples in batches.
"""
