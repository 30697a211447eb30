"""``python -m apiserver``: one API server, configured by ``APISERVER_*``."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from apiserver.app import create_app
from apiserver.catalog.yaml_file import CatalogError
from apiserver.engine import preloaded
from apiserver.settings import ApiServerSettings
from shared.runtime.exit_codes import EXIT_CONFIG, exit_on_signals, reload_on_hangup
from shared.runtime.forked_process import ForkServer, ForkServerError
from shared.runtime.logging import configure_logging
from shared.runtime.process_guard import ProcessGuard
from shared.runtime.settings import SettingsError, load_settings, wants_check
from shared.server import draining_server
from shared.server.limits import ConnectionLimiter


def main() -> int:
    """Serve until a signal; return 78 for a wrong setting or catalog.

    With ``--check`` settings and catalog are checked, and nothing is served.
    """
    is_check = wants_check("apiserver", "One API server, configured by APISERVER_*.")
    exit_on_signals()
    # Its own, whatever happens to the one that forked this process.
    fork_server = ForkServer(preloaded.COMMAND, os.environ)
    is_fork = fork_server.inherit()
    try:
        settings = load_settings(ApiServerSettings)
        configure_logging(settings.log_level, settings.log_format)
        for name, value in preloaded.ENVIRONMENT.items():
            os.environ.setdefault(name, value)
        app = create_app(settings, fork_server=fork_server if preloaded.is_supported() else None)
    except (SettingsError, CatalogError) as error:
        sys.stderr.write(f"apiserver: {error}\n")
        return EXIT_CONFIG
    if is_check:
        sys.stdout.write("apiserver: the settings and the catalog are right\n")
        return 0
    # Each request ends by its deadline, so the longest deadline bounds the wait; the last answer ends it.
    grace = settings.max_request_timeout
    limiter = ConnectionLimiter(draining_server.raise_open_files_limit(settings.max_connections))
    config = draining_server.server_config(
        app, host=settings.host, port=settings.port, grace_seconds=grace, limiter=limiter
    )
    running = draining_server.DrainingServer(
        config, drain=app.state.context.model_server.drain, drain_seconds=settings.drain_seconds
    )
    if settings.operator_token.get_secret_value():
        reload_on_hangup(app.state.context.reloader.reload_by_signal)
    # An EngineCore outlives a killed API server; the guard process ends it.
    with ProcessGuard(name="PAIRWAY_APISERVER", grace_seconds=0.0):
        if not is_fork and preloaded.is_supported():
            # It imports vLLM while this process does; without it engines do so themselves.
            with suppress(ForkServerError):
                fork_server.start()
        try:
            running.run()
        finally:  # after a signal too: an engine that starts now would have no mark
            fork_server.stop()
    return 0 if running.started else 1


if __name__ == "__main__":
    try:
        code = main()
    except SystemExit as stopped:
        code = stopped.code if isinstance(stopped.code, int) else 1
    sys.stdout.flush()
    sys.stderr.flush()
    # A thread inside vLLM's start cannot be interrupted, and the interpreter would wait for it.
    os._exit(code)
