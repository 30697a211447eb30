"""From languages to pairs and pivots; language detection.

- ``routes``: a pair's route through the fleet.
- ``pivots``: routes through a third language.
- ``language_detector``: detects served languages.
- ``language_groups``: texts by detected language.
- ``visible_text``: the visible text of markup.
"""
