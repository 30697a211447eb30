"""From languages to pairs and pivots; language detection.

- ``routes``: the route of a language pair through the fleet.
- ``pivots``: routes through a third language, and how one is chosen.
- ``language_detector``: detects a text's language among those served.
- ``visible_text``: the visible text of markup, for detection.
"""
