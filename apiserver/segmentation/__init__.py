"""Sentences and boundaries.

- ``segmenter``: cuts a text into segments within a budget.
- ``sentence_splitter``: where sentences end; the adapter for sentencex.
- ``text_boundaries``: where a sentence may be cut; the adapter for ICU.
- ``rejoin``: the spacing between two translated segments.
"""
