"""Protection of what must survive translation.

- ``placeholders``: replaces protected parts with placeholders.
- ``number_conventions``: writes numbers as the target does.
- ``glossary``: finds a client's names and terms.
- ``placeholder_encoding``: writes placeholders for a model.
- ``tag_projection``: puts tags into an untagged translation.
- ``emoji``: removes and restores emoji.
"""
