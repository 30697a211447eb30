"""What must survive translation: placeholders, glossary terms, tags, emoji.

- ``placeholders``: replaces what must survive in a block by placeholders.
- ``glossary``: where a client's names and terms are in a text.
- ``placeholder_encoding``: how placeholders travel through a model and are found again.
- ``tag_projection``: puts tags around the words of a translation made without them.
- ``emoji``: takes emoji out of a segment and puts them back.
"""
