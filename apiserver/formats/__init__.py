"""Text, HTML and Markdown as blocks of words.

- ``parser``: reads a text in its format; plain text.
- ``html/``: HTML.
- ``markdown/``: Markdown.
- ``document``: blocks, their placeholders, and how translations of them are written.
- ``tag_nesting``: makes one block of the runs between two borders, with as few placeholders as possible.
- ``document_builder``: puts runs and blocks in their places in the text.
"""
