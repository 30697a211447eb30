"""``python -m proxy``: one proxy, configured by ``PROXY_*``."""

from __future__ import annotations

import logging
import os
import socket
import sys
from functools import partial
from ipaddress import ip_network
from typing import Final

from pydantic import ValidationError

from proxy.app import create_app, create_operator_app
from proxy.multiprocess import NO_START, ProcessSupervisor
from proxy.settings import PREFIX, ProxySettings
from shared.runtime.exit_codes import EXIT_CONFIG, exit_on_signals
from shared.runtime.logging import configure_logging
from shared.runtime.settings import UnknownSettingError, describe_settings_error, refuse_unknown_settings
from shared.server import draining_server
from shared.server.limits import ConnectionLimiter

log = logging.getLogger(__name__)

# Connections that wait to be accepted; uvicorn's own default.
BACKLOG: Final = 2048


def main() -> int:
    """Serve until told to stop; 78 when a setting is wrong."""
    exit_on_signals()
    try:
        refuse_unknown_settings(PREFIX, ProxySettings.model_fields, os.environ)
        settings = ProxySettings()
    except ValidationError as error:
        sys.stderr.write(f"proxy: {describe_settings_error(error, PREFIX)}\n")
        return EXIT_CONFIG
    except UnknownSettingError as error:
        sys.stderr.write(f"proxy: {error}\n")
        return EXIT_CONFIG
    configure_logging(settings.log_level, settings.log_format)
    if everywhere := [each for each in settings.trusted_proxies if ip_network(each).prefixlen == 0]:
        log.warning("any client can claim any address", extra={"trusted_proxies": everywhere})
    new_limiter = partial(ConnectionLimiter, draining_server.raise_open_files_limit(settings.max_connections))
    if settings.processes == 1:
        return _serve(settings, new_limiter())
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        listening = socket.create_server((settings.host, settings.port), family=family, backlog=BACKLOG)
    except OSError as error:
        log.error("no socket", extra={"host": settings.host, "port": settings.port, "error": str(error)})  # noqa: TRY400 - no news in the traceback
        return NO_START
    # Closed here as soon as they are told to end: they have it too, and once they have closed it new clients are to be
    # refused, not to wait for somebody to accept them.
    return ProcessSupervisor(
        settings.processes, lambda number: _serve(settings, new_limiter(), number, [listening]), listening.close
    ).run()


def _serve(
    settings: ProxySettings, limiter: ConnectionLimiter, number: int = 0, listening: list[socket.socket] | None = None
) -> int:
    """Serve as the process of that number, on the socket if there is one."""
    app = create_app(settings)
    config = partial(
        draining_server.server_config,
        # Every request ends by its own Deadline, so none is cut; with nothing in flight there is nothing to wait for.
        grace_seconds=settings.max_request_timeout,
        limiter=limiter,
        trusted_proxies=settings.trusted_proxies,
    )
    second = None
    if settings.operator_port:
        port = settings.operator_port + number
        second = config(create_operator_app(app), host=settings.operator_host, port=port)
    running = draining_server.DrainingServer(
        config(app, host=settings.host, port=settings.port),
        drain=app.state.draining.set,
        drain_seconds=settings.drain_seconds,
        second=second,
    )
    running.run(listening)
    return 0 if running.started and not running.failed else NO_START


if __name__ == "__main__":
    sys.exit(main())
