"""Installs and starts Pairway; imports ``shared``, of the servers only their settings.

- ``environment``: makes the virtual environment match the locks; needs only a system Python.
- ``client_command``: puts the command `pairway` into the environment.
- ``lockfiles``: reads the locks, and compares an environment with them.
- ``pip_settings``: translates pip's configuration into uv's variables.
- ``bytecode``: compiles the installed libraries, what the servers import first.
- ``local``: runs everything on one machine without Docker (``make up``).
- ``launch_plan``: the servers and their ports, checked before the start.
- ``supervisor``: watches one server, and starts it again when it dies, or leaves it down.
- ``process``: a child process with a log file.
- ``readiness``: reads a proxy's ``/health``: what is ready, and why not.
- ``redis_server``: a private Redis for the launcher.
- ``prometheus_server``: a private Prometheus for the launcher.
- ``rollout/``: changes docker compose's containers while they serve (``make roll``).
- ``dashboards/``: writes Grafana's dashboards (``make dashboards``).
- ``run_folder``: one launcher at a time, and private files of a run.
"""
