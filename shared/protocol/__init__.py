"""Formats on the wire.

- ``translate_request``: requests: fields, options, limits.
- ``deadline``: time limits of requests.
- ``answers``: translations, problems.
- ``report``: the state of an API server.
- ``sse_format``: server-sent events of a translation.
- ``errors``: the exception tree, and who acts on an outcome.
- ``validation_errors``: pydantic's errors, reworded.
- ``priority``: priorities, cost units, lanes.
- ``headers``: request id, caller's tag, tokens.
"""
