"""``python -m apiserver.changes``: change models of the API server on this machine.

It calls the server at APISERVER_PORT with APISERVER_OPERATOR_TOKEN, for example inside the server's container. It ends with
0 when the change did what was asked, and with 1 otherwise.
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
        """Return the answer.

        Raises:
            CallFailedError: the server refused the call, or did not answer.
        """
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
        client = ModelsClient(load_settings(ApiServerSettings))
        return _run(client, options)
    except SettingsError as error:
        sys.stderr.write(f"apiserver.changes: {error}\n")
        return EXIT_CONFIG
    except CallFailedError as error:
        sys.stderr.write(f"apiserver.changes: {error}\n")
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m apiserver.changes", description="Change models of the API server on this machine."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="list the models, the change that runs, and the last one")
    change = commands.add_parser("change", help="replace a hosted model by an entry of the catalog on disk")
    change.add_argument("model", help="name of the hosted model")
    change.add_argument("entry", help="name of the catalog's entry; it may be the same")
    change.add_argument("--hold", action="store_true", help="load and prove it, but wait for switch")
    commands.add_parser("switch", help="let the held candidate serve")
    commands.add_parser("abandon", help="unload the candidate; the old model serves on")
    rollback = commands.add_parser("rollback", help="return to the model that served before")
    rollback.add_argument("model", nargs="?", help="name of the hosted model; default: that of the last change")
    reload = commands.add_parser("reload", help="replace each model whose entry or weights on disk differ")
    for command in (change, rollback, reload):
        command.add_argument("--swap", action="store_true", help="unload the old model first, where memory is short")
    return parser


def _run(client: ModelsClient, options: argparse.Namespace) -> int:
    match options.command:
        case "list":
            _print_models(client.call("GET", "/models"))
            return 0
        case "change":
            body = {"model": options.model, "entry": options.entry, "hold": options.hold, "swap": options.swap}
            started = client.call("POST", "/models/changes", body)
        case "switch":
            started = client.call("POST", "/models/changes/current/switch")
        case "abandon":
            started = client.call("DELETE", "/models/changes/current")
            return 0 if _ended(client, started, leaves_hold=True)["outcome"] == "abandoned" else 1
        case "rollback":
            body = {"swap": options.swap, **({"model": options.model} if options.model else {})}
            started = client.call("POST", "/models/rollback", body)
        case _:
            started = client.call("POST", "/models/reload", {"swap": options.swap})
            if started["change"] is None:
                _print("no model differs from the catalog on disk")
                return 0
    last = _ended(client, started, leaves_hold=options.command == "switch")
    return 0 if last["outcome"] == "switched" or last["step"] == "held" else 1


def _ended(client: ModelsClient, started: dict[str, Any], *, leaves_hold: bool = False) -> dict[str, Any]:
    """Print the steps until the started change ends or is held."""
    printed: list[tuple[str, str]] = []
    ends = time.monotonic() + MAX_WAIT_SECONDS
    while time.monotonic() < ends:
        models = client.call("GET", "/models")
        change = _own_change(models, started)
        line = (change["entry"], change["step"])
        if line not in printed:
            printed.append(line)
            _print_change(change)
        if change is models["last_change"] or (change["step"] == "held" and not leaves_hold):
            return change
        time.sleep(LOOK_SECONDS)
    raise CallFailedError("the change has not ended; see list")


def _own_change(models: dict[str, Any], started: dict[str, Any]) -> dict[str, Any]:
    """Return the started change, or its reload's present one."""
    began = started["change"]["started_at"]
    for change in (models["change"], models["last_change"]):
        if change is None:
            continue
        is_next = change["kind"] == "reload" and change["entry"] in started["waiting"] and change["started_at"] > began
        if change["started_at"] == began or is_next:
            return change
    raise CallFailedError(
        f"the change to {started['change']['entry']} ended unseen, and another operator's followed: see list, and "
        '"model change ended" in the server\'s log'
    )


def _print_change(change: dict[str, Any]) -> None:
    seconds = ", ".join(f"{step} {passed:g} s" for step, passed in change["seconds"].items())
    state = change["outcome"] or change["step"]
    _print(f"{change['model']} -> {change['entry']}: {state} ({seconds})")
    for text in (change["why"], change["note"]):
        if text:
            _print(f"  {text}")


def _print_models(models: dict[str, Any]) -> None:
    for model in models["models"]:
        needed = "unknown" if model["needed_bytes"] is None else f"{model['needed_bytes'] // MIB} MiB"
        _print(f"{model['name']}  {model['state']}  revision {model['revision'] or 'unknown'}  memory {needed}")
        for pair, state in model["pairs"].items():
            _print(f"  {pair}  {'ready' if state['ready'] else state['why']}")
    for change in (models["change"], models["last_change"]):
        if change is not None:
            _print_change(change)


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
