"""Installs, starts and watches Pairway; imports shared and nothing of the servers.

- ``environment``: makes the virtual environment match the locks; needs a system's Python alone.
- ``lockfiles``: reads the locks, and compares an environment with them.
- ``local``: everything on one machine without Docker (``make up``).
- ``launch_plan``: which servers at which ports, checked before the start.
- ``process``: one process with its log, stopped for certain.
- ``readiness``: waits until every pair is ready.
- ``redis_server``: a Redis of the launcher's own.
- ``single_instance``: one launcher at a time for a run folder.
"""
