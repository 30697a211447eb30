"""``python -m apiserver.changes``: change models of the API server on this machine.

It calls the server at APISERVER_PORT with APISERVER_OPERATOR_TOKEN. It ends with 0 when the change did what was asked,
otherwise with 1.
"""

from __future__ import annotations

import argparse
import http.client
import json
import sys
import time
from collections.abc import Sequence
from typing import Any, Final

from apiserver.settings import ApiServerSettings
from shared.protocol.headers import authorization_header
from shared.runtime.exit_codes import EXIT_CONFIG
from shared.runtime.settings import SettingsError, load_settings

CALL_SECONDS: Final = 60.0
LOOK_SECONDS: Final = 0.5
# Several models of a reload, each with a download.
MAX_WAIT_SECONDS: Final = 6 * 3600.0
MIB: Final = 1_048_576


class CallFailedError(Exception):
    """The server refused the call, or did not answer."""


class ModelsClient:
    """Operators' calls to one API server."""

    def __init__(self, settings: ApiServerSettings) -> None:
        self._host = "127.0.0.1" if settings.host in {"0.0.0.0", "::"} else settings.host  # noqa: S104 - compared, not bound
        self._port = settings.port
        self._headers = {
            "Authorization": authorization_header(settings.operator_token),
            "Content-Type": "application/json",
        }

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the answer, or raise CallFailedError."""
        connection = http.client.HTTPConnection(self._host, self._port, timeout=CALL_SECONDS)
        try:
            connection.request(method, path, json.dumps(body or {}), self._headers)
            response = connection.getresponse()
            answer: dict[str, Any] = json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise CallFailedError(f"no answer of an API server at {self._host}:{self._port}: {error}") from error
        finally:
            connection.close()
        if response.status >= http.client.BAD_REQUEST:
            raise CallFailedError(f"{answer.get('code')}: {answer.get('detail')}")
        return answer


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return the exit code."""
    options = _parser().parse_args(arguments)
    try:
        return _run(ModelsClient(load_settings(ApiServerSettings)), options)
    except (SettingsError, CallFailedError) as error:
        sys.stderr.write(f"apiserver.changes: {error}\n")
        return EXIT_CONFIG if isinstance(error, SettingsError) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m apiserver.changes", description="Change models of the API server on this machine."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="list the models, what the catalog on disk says, and the last reload")
    reload = commands.add_parser("reload", help="serve what the catalog on disk says")
    reload.add_argument(
        "--swap", action="store_true", help="unload what an entry replaces first, where memory is short"
    )
    reload.add_argument("--remove", action="store_true", help="unload models whose entry is gone from the catalog")
    reload.add_argument("--cancel", action="store_true", help="end the reload that runs; the old models serve on")
    return parser


def _run(client: ModelsClient, options: argparse.Namespace) -> int:
    if options.command == "list":
        _print_models(client.call("GET", "/models"))
        return 0
    if options.cancel:
        if options.swap or options.remove:
            raise CallFailedError("--cancel ends the reload that runs; without --swap and --remove")
        return 0 if _ended(client, client.call("DELETE", "/models/reload"))["outcome"] == "cancelled" else 1
    started = client.call("POST", "/models/reload", {"swap": options.swap, "remove": options.remove})
    if started["reload"] is None and not started["last_reload"]["changes"]:
        _print("no model differs from the catalog on disk; its order of entries is taken over")
        return 0
    return 0 if _ended(client, started)["outcome"] == "done" else 1


def _ended(client: ModelsClient, started: dict[str, Any]) -> dict[str, Any]:
    began = (started["reload"] or started["last_reload"])["started_at"]
    printed: set[tuple[int, str]] = set()
    ends = time.monotonic() + MAX_WAIT_SECONDS
    models = started
    while time.monotonic() < ends:
        reloads = [models["reload"], models["last_reload"]]
        own = next((reload for reload in reloads if reload is not None and reload["started_at"] == began), None)
        if own is None:
            raise CallFailedError(
                "the reload ended unseen, and another operator's followed: see list, and "
                '"model change ended" in the server\'s log'
            )
        for number, change in enumerate(own["changes"]):
            if (line := (number, change["step"])) not in printed and change["step"] != "waiting":
                printed.add(line)
                _print_change(change)
        if own["outcome"] is not None and own is not models["reload"]:
            return own
        time.sleep(LOOK_SECONDS)
        models = client.call("GET", "/models")
    raise CallFailedError("the reload has not ended; see list")


def _print_change(change: dict[str, Any]) -> None:
    seconds = ", ".join(f"{step} {passed:g} s" for step, passed in change["seconds"].items())
    replaced = ", ".join(change["replaces"])
    names = " -> ".join(filter(None, (replaced, change["entry"])))
    _print(f"{names}: {change['outcome'] or change['step']} ({seconds})")
    if change["why"]:
        _print(f"  {change['why']}")


def _print_models(models: dict[str, Any]) -> None:
    for model in models["models"]:
        needed = "unknown" if model["needed_bytes"] is None else f"{model['needed_bytes'] // MIB} MiB"
        _print(f"{model['name']}  {model['state']}  revision {model['revision'] or 'unknown'}  memory {needed}")
        for pair, state in model["pairs"].items():
            _print(f"  {pair}  {'ready' if state['ready'] else state['why']}")
    for entry in models["catalog"]["entries"]:
        if entry["state"] != "same":
            _print(f"on disk: {entry['name']} is {entry['state']}")
    for issue in models["catalog"]["issues"]:
        _print(f"on disk: {issue}")
    for reload in (models["reload"], models["last_reload"]):
        for change in reload["changes"] if reload is not None else ():
            _print_change(change)


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
