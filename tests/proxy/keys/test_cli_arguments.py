"""Arguments of the command line for keys: wrong ones need no Redis to be refused."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from proxy.keys.api_key import Grant, mint
from proxy.keys.cli_arguments import parse

CREATE = ["create", "--name", "a"]


def refusal(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Parse wrong arguments; return the message."""
    with pytest.raises(SystemExit) as exit_:
        parse(arguments)
    out, errors = capsys.readouterr()
    assert (exit_.value.code, out) == (2, "")
    return errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "required: command"),
        (["create"], "--name"),
        ([*CREATE, "--chars-per-day", "2.5"], "'2.5' is not a whole number; write one such as 20, or none\n"),
        ([*CREATE, "--expires", "soon"], "--expires: 'soon' is not a time; write 30d, 12h, a date such as "),
        ([*CREATE, "--expires", "2001-01-01"], "--expires: '2001-01-01' is in the past; write 30d, "),
        ([*CREATE, "--expires", "999999999d"], "--expires: '999999999d' is after the year 9999; write 30d, "),
        ([*CREATE, "--scope", "root"], "--scope: invalid choice: 'root' (choose from 'translate', 'operate')"),
        (["limit", "0123456789ab", "--expires", "0h"], "--expires: '0h' is in the past; write 30d, "),
        (["limit", "0123456789ab", "--expires", "9999-12-31T23:00:00-14:00"], "is after the year 9999; write 30d, "),
        (["import", "--output", "keys.jsonl"], "unrecognized arguments: --output"),
    ],
)
def test_wrong_arguments_exit_with_a_message(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in refusal(arguments, capsys)


@pytest.mark.parametrize("name", ["show", "limit", "revoke"])
def test_whole_key_as_id_is_refused_unrepeated(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = mint(Grant(name="a"), 0.0)[1]
    message = refusal([name, shown], capsys)
    assert "never the key itself" in message
    assert shown not in message


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ["--requests-per-minute", "20", "--chars-per-day", "none"],
            {"requests_per_minute": 20, "chars_per_day": None},
        ),
        (["--pairs", "en-de, zh-Hant>de"], {"pairs": ["en-de", "zh-Hant>de"]}),
        (["--pairs", "none", "--expires", "none"], {"pairs": None, "expires_at": None}),
        (["--expires", "2999-01-01"], {"expires_at": 32472144000}),
        (["--no-cached", "--scope", "operate"], {"cached": False, "scopes": ["operate"]}),
        ([], {}),
    ],
)
def test_grant_has_only_what_was_given(arguments: list[str], expected: dict[str, Any]) -> None:
    options = vars(parse(["limit", "0123456789ab", *arguments]))
    assert {name: options[name] for name in options.keys() & Grant.model_fields.keys()} == expected


def test_expiry_counts_from_now() -> None:
    assert parse([*CREATE, "--expires", "12h"]).expires_at == pytest.approx(time.time() + 12 * 3600, abs=60)


def test_backup_commands_take_files() -> None:
    assert parse(["export", "--output", "a"]).output == Path("a")
    options = parse(["import"])
    assert (options.input, options.undo_revocations, options.json) == (None, False, False)
