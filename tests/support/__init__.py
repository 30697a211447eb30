"""Helpers of all tests.

- ``processes``: real processes, free ports, a real Redis.
- ``marked_processes``: processes that are found by a mark, so that none is missed.
- ``serving``: an app on a real socket.
- ``fake_replica``: an API server at the wire, programmable.
- ``scripted_engine``: an engine that answers as a test says.
- ``event_streams``: a reader of event streams that shares nothing with the product's.
- ``browser``: headless Chromium, driven through its DevTools protocol.
- ``browser_install``: downloads it, pinned; ``make browser``.
- ``clock``: seconds that pass by hand.
- ``waiting``: waiting for outcomes, by a clock on which pauses of the machine do not count.
"""
