"""Protection of what must survive translation.

- ``placeholders``: replaces protected parts with placeholders.
- ``glossary``: finds a client's names and terms.
- ``placeholder_encoding``: writes placeholders for a model.
- ``tag_projection``: puts tags into an untagged translation.
- ``emoji``: removes and restores emoji.
"""
