"""Workload: the model and the texts of every design.

- ``model``: the run's catalog, prompts and sampling.
- ``random_weights``: models of a wanted size with random weights.
- ``candidate_texts``: texts made of sentences.
- ``text_selection``: the candidates that need one engine request for each segment.
- ``text_file``: the file of the chosen texts.
"""
