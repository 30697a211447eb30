"""XML as blocks of words, with or without a root element.

- ``reader``: reads tokens into blocks.
- ``tokens``: the tokens of a well-formed text.
- ``outline``: the elements that separate sentences, or are ignored.
- ``references``: character references, and escaping.
"""
