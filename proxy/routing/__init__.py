"""From languages to pairs and pivots; language detection.

- ``routes``: a pair's route through the fleet.
- ``pivots``: routes through a third language.
- ``language_lists``: what is served, rendered for each API.
- ``language_detector``: detects served languages.
- ``language_groups``: texts by detected language.
- ``visible_text``: the visible text of markup.
"""
