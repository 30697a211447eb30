"""Harness: what every benchmark needs, and what tests need too.

- ``load``: closed and open loops, whatever sends the requests.
- ``http_load``: HTTP clients of ``/translate`` in a process of their own.
- ``texts``: the texts that a load sends.
- ``processes``: free ports, servers as processes with logs.
- ``servers``: Pairway's proxy as a process, and small questions to it.
- ``waiting``: waiting for an outcome.
- ``engine``: one model on a real engine in this process, without HTTP.
- ``statistics``: percentiles.
- ``targets``: what was measured beside what it must be.
- ``report``: the folder of a run, and tables in Markdown.
"""
