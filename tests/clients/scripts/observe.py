"""Runs the calls of a client and prints what each returned or raised, as JSON."""

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any

# A window of a limit may begin between two calls.
MAX_CALLS = 20


def configuration() -> dict[str, str]:
    """Return the addresses and keys that the test passes."""
    return json.loads(sys.argv[1])


def observe(calls: Mapping[str, Callable[[], Any]]) -> None:
    """Print the outcome of every call: its value, or its error with all that the client knows of it."""
    json.dump({name: _outcome(call) for name, call in calls.items()}, sys.stdout, default=str)


def until_refused(call: Callable[[], Any]) -> Callable[[], Any]:
    """Return a call that repeats this one until it raises."""

    def repeat() -> str:
        for _ in range(MAX_CALLS):
            call()
        return "never refused"

    return repeat


def _outcome(call: Callable[[], Any]) -> dict[str, Any]:
    try:
        return {"value": call()}
    except Exception as error:  # noqa: BLE001 - whatever a client raises is what it knows
        names = ("code", "status_code", "http_status_code")
        response = getattr(error, "response", None)  # of requests
        found = [getattr(error, name, None) for name in names] + [getattr(response, "status_code", None)]
        status = next((each for each in found if isinstance(each, int)), None)
        kinds = [each.__name__ for each in type(error).__mro__]
        body = error.read().decode() if hasattr(error, "read") else getattr(response, "text", "")
        return {"error": kinds, "status": status, "message": str(error), "body": body}
