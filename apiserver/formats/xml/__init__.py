"""XML as blocks of words; a text without a root element is XML too.

- ``reader``: reads tokens into blocks.
- ``tokens``: the tokens of a well-formed text.
- ``outline``: the elements that separate sentences, or are ignored.
- ``references``: character references, and escaping.
"""
