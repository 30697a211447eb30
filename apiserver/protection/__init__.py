"""Protection of placeholders, glossary terms, tags and emoji during translation.

- ``placeholders``: replaces literals, names, terms and signs of a block with placeholders.
- ``glossary``: finds a client's names and terms in a text.
- ``placeholder_encoding``: writes placeholders for a model, and finds them in its output.
- ``tag_projection``: puts tags into a translation made without them.
- ``emoji``: removes emoji from a segment, and restores them.
"""
