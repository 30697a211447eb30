"""Text, HTML, Markdown and XML as blocks of words.

- ``parser``: reads a text in its format.
- ``document``: blocks and their placeholders, and how they are built.
- ``html_reader``, ``html_tokens``: HTML (turbohtml), its elements and attributes with words.
- ``markdown_reader``, ``markdown_events``, ``markdown_writer``: Markdown (pyromark), its links, and words as Markdown.
- ``xml_reader``, ``xml_tokens``: XML, its outline and references.
- ``tag_nesting``: makes blocks with few placeholders.
"""
