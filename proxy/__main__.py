"""``python -m proxy``: one proxy, configured by ``PROXY_*``; ``python -m proxy keys|fleet …``: commands on its Redis."""

from __future__ import annotations

import logging
import sys
from functools import partial
from ipaddress import ip_network
from typing import Final

from proxy.commands import program
from proxy.settings import ProxySettings
from shared.runtime.exit_codes import EXIT_CONFIG, exit_on_signals
from shared.runtime.logging import configure_logging
from shared.runtime.settings import SettingsError, load_settings, wants_check
from shared.server import draining_server
from shared.server.limits import ConnectionLimiter

log = logging.getLogger(__name__)

# Exit status if the server could not start, or failed.
NO_START: Final = 1


def main() -> int:
    """Serve, or run a command; return the exit status."""
    arguments = sys.argv[1:]
    return program.main(arguments) if arguments[:1] in (["keys"], ["fleet"]) else serve()


def serve() -> int:
    """Serve until a signal; return 78 if a setting is wrong.

    With ``--check`` the settings are checked, and nothing is served.
    """
    from proxy.app import create_app, create_operator_app  # noqa: PLC0415 - it takes as long as a whole command

    is_check = wants_check("proxy", "One proxy, configured by PROXY_*. Commands on its Redis: keys, fleet.")
    exit_on_signals()
    try:
        settings = load_settings(ProxySettings)
    except SettingsError as error:
        sys.stderr.write(f"proxy: {error}\n")
        return EXIT_CONFIG
    configure_logging(settings.log_level, settings.log_format)
    if everywhere := [each for each in settings.trusted_proxies if ip_network(each).prefixlen == 0]:
        log.warning("any client can forge its address", extra={"trusted_proxies": everywhere})
    limiter = ConnectionLimiter(draining_server.raise_open_files_limit(settings.max_connections))
    app = create_app(settings)
    if is_check:
        sys.stdout.write("proxy: the settings are right\n")
        return 0
    config = partial(
        draining_server.server_config,
        # The longest deadline, so that a shutdown cuts no request; it ends earlier once none is in flight.
        grace_seconds=settings.max_request_timeout,
        limiter=limiter,
        trusted_proxies=settings.trusted_proxies,
    )
    second = None
    if settings.operator_port:
        second = config(create_operator_app(app), host=settings.operator_host, port=settings.operator_port)
    server = draining_server.DrainingServer(
        config(app, host=settings.host, port=settings.port),
        drain=app.state.draining.set,
        drain_seconds=settings.drain_seconds,
        second=second,
    )
    server.run()
    return 0 if server.started and not server.failed else NO_START


if __name__ == "__main__":
    sys.exit(main())
