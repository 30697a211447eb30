"""Text, HTML and Markdown as blocks of words."""
