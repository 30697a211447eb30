"""From languages to pairs and pivots; language detection.

- ``routes``: a pair's route through the fleet, direct or through a pivot.
- ``pivots``: the order of pivots, and the choice of one.
- ``language_lists``: what is served, rendered for each API; that of ``/languages``.
- ``language_detector``: detects served languages.
- ``visible_text``: the visible text of markup.
"""
