"""Web pages of the proxy: the files of ``web/``, served from memory.

- ``pages``: which pages there are; adds them to an app.
- ``html_page``: one page, with what it must know and its policy.
- ``page_config``: what a page must know of its proxy.
- ``assets``: scripts, styles and texts under an address with a hash.
"""
