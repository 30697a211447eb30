"""Tests of our pages in a real browser: headless Chromium, driven by Playwright; ``make test-page``.

- ``install``: what they need, into ``.cache``; ``make test-setup``.
- ``npm``: axe-core, pinned.
- ``tabs``: one tab of the browser and what it asked for, loaded and complained of.
- ``conftest``: the browser, and tabs that are checked when a test ends.
"""
