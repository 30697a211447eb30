"""Protection of what must survive translation.

- ``placeholders``: replaces protected parts with placeholders.
- ``number_conventions``: writes numbers as the target does.
- ``glossary``: finds a client's names and terms.
- ``phrase_index``: the phrases at one place of a text.
- ``placeholder_encoding``: writes placeholders for a model.
- ``emoji``: removes and restores emoji.
"""
