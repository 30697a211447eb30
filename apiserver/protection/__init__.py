"""Protection of what must survive translation.

- ``placeholders``: replaces protected parts with placeholders.
- ``number_conventions``: writes numbers as the target does.
- ``glossary``: finds a client's names and terms.
- ``placeholder_encoding``: writes placeholders for a model.
- ``emoji``: removes and restores emoji.
"""
