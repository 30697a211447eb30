"""HTML as blocks of words.

- ``reader``: reads tokens into blocks.
- ``tokens``: the tokens of a text; the adapter for turbohtml.
- ``elements``: the open elements, and whether their content is translated.
- ``attributes``: attributes with words.
"""
