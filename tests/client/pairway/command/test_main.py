"""The program itself: help, versions, common options, and how it ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.client.pairway.command.command_line import Program

NOWHERE = "http://127.0.0.1:1"


def test_wrong_option_names_the_nearest(run: Program) -> None:
    ended = run("languages", "--urll", "x")
    assert ended.code == 2
    assert "--url" in ended.err.splitlines()[-1]


def test_wrong_command_names_the_nearest(run: Program) -> None:
    ended = run("languagse")
    assert ended.code == 2
    assert "'languages'" in ended.err


@pytest.mark.parametrize("arguments", [["languages", "--url", NOWHERE], ["--url", NOWHERE, "languages"]])
def test_server_away_says_how_to_start_one(run: Program, arguments: list[str]) -> None:
    """The common options stand before the command or behind it."""
    ended = run(*arguments)
    assert ended.code == 3
    assert ended.err.count("\n") == 1
    assert NOWHERE in ended.err
    assert "--url" in ended.err
    assert "make up" in ended.err


def test_option_at_the_command_wins(run: Program) -> None:
    assert NOWHERE in run("--url", "http://127.0.0.1:2", "languages", "--url", NOWHERE).err


@pytest.mark.parametrize("option", ["--key-file", "--ca"])
def test_missing_file_of_an_option_is_a_mistake(run: Program, option: str) -> None:
    ended = run("languages", option, "missing.pem")
    assert ended.code == 2
    assert f"{option} missing.pem cannot be read: No such file or directory" in ended.err


def test_key_file_may_not_be_empty(run: Program, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("\n")
    assert run("languages", "--key-file", "key").code == 2


def test_version_needs_no_server(run: Program) -> None:
    ended = run("--version", "--url", NOWHERE)
    assert ended.code == 0
    assert ended.out.startswith("pairway 0.")
    assert NOWHERE in ended.err


def test_key_is_no_option(run: Program) -> None:
    """It would stand in the list of processes."""
    assert run("languages", "--key", "secret-word").code == 2


def test_help_of_a_command_names_that_of_the_server_options(run: Program) -> None:
    assert run("translate", "--help").out.endswith("Options of the server: pairway --help.\n")
