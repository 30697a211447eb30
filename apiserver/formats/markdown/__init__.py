"""Markdown as blocks of words.

- ``reader``: reads events into blocks.
- ``inline_reader``: reads the inline events of a block.
- ``events``: the events of a text; the adapter for pyromark.
- ``links``: titles, images and the closings of links.
- ``escaping``: writes words so that none becomes markup.
- ``emphasis``: joins words and emphasis so that each pair stays a pair.
"""
