"""Formats on the wire: messages, errors, headers, deadlines.

- ``messages``: requests, translations and problems as models.
- ``report``: the state that an API server reports.
- ``sse``: server-sent events of a streamed translation.
- ``errors``: the exception tree; each class has its status and code.
- ``validation_errors``: pydantic's errors, reworded for clients and operators.
- ``deadline``: the time that a request may still take.
- ``priority``: priorities, cost units, and lanes.
- ``headers``: headers of both servers, the caller's tag, bearer tokens.
"""
