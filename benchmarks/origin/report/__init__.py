"""Report: what the answers of every point say.

- ``measurements``: figures of a point.
- ``targets``: what is promised of them.
- ``tables``: the report in Markdown.
- ``plots``: the figures drawn.
"""
