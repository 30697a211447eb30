"""``python -m proxy``: one proxy, configured by ``PROXY_*``."""

from __future__ import annotations

import logging
import os
import sys
from functools import partial
from ipaddress import ip_network

from pydantic import ValidationError

from proxy.app import create_app, create_operator_app
from proxy.settings import PREFIX, Settings
from shared import server
from shared.bounds import Room
from shared.environment import UnknownSettingError, describe, refuse_unknown
from shared.program import EXIT_CONFIG, leave_on_signals
from shared.telemetry import configure_logging

log = logging.getLogger(__name__)


def main() -> int:
    """Serve until told to stop; 78 when a setting is wrong."""
    leave_on_signals()
    try:
        refuse_unknown(PREFIX, Settings.model_fields, os.environ)
        settings = Settings()
    except ValidationError as error:
        sys.stderr.write(f"proxy: {describe(error, PREFIX)}\n")
        return EXIT_CONFIG
    except UnknownSettingError as error:
        sys.stderr.write(f"proxy: {error}\n")
        return EXIT_CONFIG
    configure_logging(settings.log_level, settings.log_format)
    if everybody := [each for each in settings.trusted_proxies if ip_network(each).prefixlen == 0]:
        log.warning("any client can claim any address", extra={"trusted_proxies": everybody})
    app = create_app(settings)
    # Every request ends by its own Deadline, so none is cut; with nothing in flight there is nothing to wait for.
    grace = settings.max_request_timeout
    config = partial(
        server.server_config,
        grace_seconds=grace,
        room=Room(server.open_files_for(settings.max_connections)),
        trusted_proxies=settings.trusted_proxies,
    )
    running = server.DrainingServer(
        config(app, host=settings.host, port=settings.port),
        drain=app.state.draining.set,
        drain_seconds=settings.drain_seconds,
        beside=config(create_operator_app(app), host=settings.operator_host, port=settings.operator_port)
        if settings.operator_port
        else None,
    )
    running.run()
    return 0 if running.started and not running.failed else 1


if __name__ == "__main__":
    sys.exit(main())
