"""Text, HTML and Markdown as blocks of words.

- ``parser``: chooses the reader of a text's format; plain text.
- ``html/``: HTML.
- ``markdown/``: Markdown.
- ``document``: a text's blocks, the placeholders in them, and how they are written again.
- ``tag_nesting``: makes the runs between two borders one block, with as few placeholders as can be.
- ``document_builder``: puts runs and blocks at their places in the text.
"""
