"""Formats on the wire.

- ``translate_request``: requests.
- ``limits``: limits of a request.
- ``answers``: translations, problems.
- ``options``: options of a request.
- ``report``: the state of an API server.
- ``sse``: server-sent events of a translation.
- ``errors``: the exception tree, and who acts on an outcome.
- ``validation_errors``: pydantic's errors, reworded.
- ``deadline``: time limits of requests.
- ``priority``: priorities, cost units, lanes.
- ``headers``: request id, caller's tag, tokens.
"""
