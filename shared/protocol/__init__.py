"""What crosses a socket: messages, errors, headers, deadlines.

- ``messages``: requests, translations and problems as models.
- ``report``: what an API server reports of itself.
- ``sse``: server-sent events of a translation that streams.
- ``errors``: the exception tree; each class knows its status and code.
- ``validation_errors``: pydantic's errors in the words of our API.
- ``deadline``: how long a request may still take.
- ``priority``: how urgent a request is, cost units, and lanes by both.
- ``headers``: names of headers that both servers use, the caller's tag, and bearer tokens.
"""
