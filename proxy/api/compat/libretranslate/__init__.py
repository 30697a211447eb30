"""LibreTranslate's API.

- ``routes``: its paths.
- ``question``: the checked fields of a request.
- ``translate``: ``/translate``.
- ``root_translate``: which of ``POST /translate`` at the root are LibreTranslate's.
- ``detect``: ``/detect``.
- ``languages``: ``/languages``, and its language codes.
- ``server_info``: ``/frontend/settings``, ``/health``, and what is off.
- ``errors``: its errors.
"""
