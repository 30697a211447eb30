"""From languages to pairs and pivots; language detection.

- ``routes``: the route of a language pair through the fleet.
- ``pivots``: routes through a third language, and the choice among them.
- ``language_detector``: detects a text's language among the served ones.
- ``visible_text``: extracts the visible text of markup, for detection.
"""
