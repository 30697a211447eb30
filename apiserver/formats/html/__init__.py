"""HTML as blocks of words.

- ``reader``: reads tokens into blocks.
- ``tokens``: the tokens of a text; the adapter for turbohtml.
- ``elements``: the open elements, and what must stay as it is inside them.
- ``attributes``: attributes that hold words.
"""
