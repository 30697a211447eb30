"""Tests of our pages in a real browser: headless Chromium, driven by Playwright; ``make test-page``.

- ``install``: what they need, into ``.cache``; ``make test-setup``.
- ``npm``: axe-core and a font, pinned.
- ``tabs``: one tab of the browser and what it asked for, loaded and complained of.
- ``screenshots``: pictures for the documents; ``make screenshots``.
- ``bench``: what the pages cost; ``make bench-page``.
- ``conftest``: the browser, and tabs that are checked when a test ends.
"""
