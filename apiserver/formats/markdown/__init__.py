"""Markdown as blocks of words.

- ``reader``: reads events into blocks.
- ``inline_reader``: reads a block's inline events.
- ``events``: the events of a text (pyromark).
- ``links``: titles, images and links' closings.
- ``escaping``: keeps words from becoming markup.
- ``emphasis``: joins words and emphasis.
"""
