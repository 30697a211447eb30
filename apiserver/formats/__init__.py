"""Text, HTML, Markdown and XML as blocks of words.

- ``parser``: reads a text in its format.
- ``html/``: HTML.
- ``markdown/``: Markdown.
- ``xml/``: XML.
- ``lines``: joins lines.
- ``document``: blocks and their placeholders.
- ``tag_nesting``: makes blocks with few placeholders.
- ``document_builder``: puts blocks in their places.
"""
