"""Sentences and boundaries.

- ``segmenter``: cuts texts into segments.
- ``sentence_splitter``: finds sentence ends (sentencex).
- ``boundary_rules``: ends that sentencex invents, and those that it misses.
- ``text_boundaries``: places to cut sentences (ICU).
- ``rejoin``: spacing between translated segments.
"""
