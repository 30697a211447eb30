"""``python -m proxy``: one proxy, configured by ``PROXY_*``."""

from __future__ import annotations

import os
import sys

from pydantic import ValidationError

from proxy.app import create_app
from proxy.settings import PREFIX, Settings
from shared import server
from shared.environment import UnknownSettingError, describe, refuse_unknown
from shared.program import EXIT_CONFIG, leave_on_signals
from shared.telemetry import configure_logging


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
    app = create_app(settings)
    # Every request ends by its own Deadline, so none is cut; with nothing in flight there is nothing to wait for.
    grace = settings.max_request_timeout
    config = server.server_config(app, host=settings.host, port=settings.port, grace_seconds=grace)
    running = server.DrainingServer(config, drain=app.state.draining.set, drain_seconds=settings.drain_seconds)
    running.run()
    return 0 if running.started else 1


if __name__ == "__main__":
    sys.exit(main())
