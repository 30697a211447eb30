"""HTML as blocks of words.

- ``reader``: reads tokens into blocks.
- ``tokens``: the tokens of a text (turbohtml).
- ``elements``: the open elements and their effect.
- ``attributes``: attributes with words.
"""
