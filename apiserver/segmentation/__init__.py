"""Sentences and boundaries.

- ``segmenter``: cuts texts into segments.
- ``sentence_splitter``: finds sentence ends (sentencex).
- ``text_boundaries``: places to cut sentences (ICU).
- ``rejoin``: spacing between translated segments.
"""
