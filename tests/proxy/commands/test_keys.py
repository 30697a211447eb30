"""The command line for keys."""

from __future__ import annotations

import errno
import functools
import json
import os
import re
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from proxy.commands import program
from proxy.keys.api_key import ApiKey, Grant, mint
from tests.conftest import PREFIX, RedisServer
from tests.proxy.command import Command
from tests.proxy.proxies import nowhere
from tests.support.processes import ROOT

CREATE = ["create", "--name", "a"]
SHOWN = re.compile(r"pw_[0-9a-f]{12}_[0-9A-Za-z]{32}")


@pytest.fixture
def command(redis: RedisServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Return the command on the Redis."""
    monkeypatch.setenv("PROXY_REDIS_URL", redis.url)
    monkeypatch.setenv("PROXY_REDIS_PREFIX", PREFIX)
    return Command(lambda arguments: program.main(["keys", *arguments]), capsys)


def test_commands_create_list_limit_and_revoke(command: Command, redis: RedisServer) -> None:
    status, shown, message = command(
        "create", "--name", "alice", "--requests-per-minute", "20", "--pairs", "en-de,zh-Hant>de", "--expires", "30d"
    )
    assert status == 0
    assert SHOWN.fullmatch(shown.strip()), "alone on its stream, for scripts"
    key_id = shown.split("_")[1]
    assert key_id in message
    status, listed, _ = command("list")
    assert [line.split()[:4] for line in listed.splitlines()][1] == [key_id, "alice", "translate", "20"]
    assert "en-de,zh-Hant>de" in listed
    assert shown.split("_")[2].strip() not in listed
    status, changed, _ = command(
        "limit", key_id, "--requests-per-minute", "none", "--chars-per-month", "500", "--no-cached", "--json"
    )
    view = json.loads(changed)
    assert (view["requests_per_minute"], view["cached"], view["name"]) == (None, False, "alice")
    assert view["chars_per_month"] == 500
    assert command("list")[1].splitlines()[1].split()[3:6] == ["-", "-", "500"]
    assert view["expires_at"] == pytest.approx(time.time() + 30 * 86_400, abs=60)
    assert json.loads(command("limit", key_id, "--expires", "2999-01-01", "--json")[1])["expires_at"] == 32472144000
    assert json.loads(command("list", key_id, "--json")[1])["requests_per_minute"]["used"] == 0
    assert "used: 0 requests this minute, 0 characters today, 0 this month" in command("list", key_id)[1]
    assert command("revoke", key_id)[0] == 0
    assert "revoked" in command("list", key_id)[1]
    assert json.loads(command("list", key_id, "--json")[1])["key"]["revoked_at"] > 0
    assert json.loads(command("list", "--json")[1])["keys"][0]["id"] == key_id
    kept: str = redis.client.get(f"{PREFIX}key:{key_id}")
    assert ApiKey.model_validate_json(kept).digest not in listed + changed


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["list", "0123456789ab"], 4, "No key in force has the id 0123456789ab"),
        (["revoke", "0123456789ab"], 4, "No key in force"),
        (["limit", "0123456789ab", "--name", "x"], 4, "No key in force"),
        (["create", "--name", ""], 2, "--name: '' is blank or not printable\n"),
        ([*CREATE, "--requests-per-minute", "0"], 2, "--requests-per-minute: 0 is too small; the minimum is 1\n"),
        ([*CREATE, "--requests-per-minute", "-5"], 2, "--requests-per-minute: -5 is too small; the minimum is 1\n"),
        ([*CREATE, "--chars-per-month", "0"], 2, "--chars-per-month: 0 is too small; the minimum is 1\n"),
        ([*CREATE, "--pairs", "en-de,xx"], 2, "--pairs: 'xx' is not a pair; write en-de, or zh-Hant>de if "),
    ],
)
def test_wrong_arguments_exit_with_a_message(command: Command, arguments: list[str], status: int, message: str) -> None:
    left, out, said = command(*arguments)
    assert (left, out) == (status, "")
    assert message in said
    assert "Input should" not in said


def test_record_with_impossible_time_is_left_out_of_list(command: Command, redis: RedisServer) -> None:
    shown = [command("create", "--name", name)[1].split("_")[1] for name in ("sound", "odd")]
    record: str = redis.client.get(f"{PREFIX}key:{shown[1]}")
    redis.client.set(f"{PREFIX}key:{shown[1]}", json.dumps(json.loads(record) | {"expires_at": 1e15}))
    status, listed, _ = command("list")
    assert (status, "sound" in listed, shown[1] in listed) == (0, True, False)
    assert command("limit", shown[0], "--expires", "9999-12-31T23:00:00-14:00")[0] == 2
    assert command("limit", shown[0], "--expires", "9999-12-31T23:59:59")[0] == 0
    assert "9999-12-31 23:59" in command("list")[1]


def test_export_and_import_bring_lost_keys_back(command: Command, redis: RedisServer, tmp_path: Path) -> None:
    shown = [command("create", "--name", name)[1].strip() for name in ("alice", "bob")]
    ids = [each.split("_")[1] for each in shown]
    status, content, message = command("export")
    assert (status, message) == (0, "2 keys in the backup.\n")
    assert not [each for each in shown if each.rpartition("_")[2] in content]
    file = tmp_path / "keys.jsonl"
    file.write_text("an older one, that all may read")
    file.chmod(0o644)
    assert command("export", "--output", str(file))[0] == 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["keys.jsonl"]
    redis.client.flushall()
    status, said, warned = command("import", "--input", str(file))
    assert status == 0
    head, *lines = said.splitlines()
    assert head.endswith(
        "UTC: 2 added, 0 changed, 0 revoked, 0 still revoked, 0 still extended, 0 over too long, 0 unchanged"
    )
    assert sorted(lines) == sorted([f"added: {ids[0]} alice", f"added: {ids[1]} bob"])
    assert "keys: warning: keys revoked after the backup" in warned
    assert command("list")[1].count("in force") == 2
    command("revoke", ids[0])
    command("limit", ids[1], "--chars-per-day", "7")
    status, said, warned = command("import", "--input", str(file), "--json")
    counts = json.loads(said)["counts"]
    assert {name: count for name, count in counts.items() if count} == {"still revoked": 1, "changed": 1}
    assert "--undo-revocations" in warned
    status, said, warned = command("import", "--input", str(file), "--undo-revocations")
    assert (status, warned) == (0, "")
    assert f"changed: {ids[0]} alice (revoked_at)" in said
    assert command("list")[1].count("in force") == 2


def test_refused_backup_says_that_nothing_changed(command: Command, redis: RedisServer, tmp_path: Path) -> None:
    file = tmp_path / "keys.jsonl"
    command("create", "--name", "alice")
    command("export", "--output", str(file))
    redis.client.flushall()
    file.write_bytes(file.read_bytes()[:-90])
    status, said, message = command("import", "--input", str(file))
    assert (status, said) == (4, "")
    assert "keys: the backup is truncated" in message
    assert message.endswith("Nothing was changed.\n")
    assert redis.keys() == []
    assert command("import", "--input", str(tmp_path / "missing"))[::2] == (
        2,
        f"keys: {tmp_path / 'missing'}: No such file or directory\n",
    )
    status, _, message = command("export", "--output", str(tmp_path / "missing/keys.jsonl"))
    assert (status, message) == (2, f"keys: {tmp_path / 'missing/keys.jsonl.part'}: No such file or directory\n")


def test_backup_without_redis_exits_with_3(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "keys.jsonl"
    command("create", "--name", "alice")
    command("export", "--output", str(file))
    kept = file.read_bytes()
    monkeypatch.setenv("PROXY_REDIS_URL", nowhere())
    status, said, message = command("export", "--output", str(file))
    assert (status, said, file.read_bytes()) == (3, "", kept)
    assert message == "keys: Redis: connection refused (PROXY_REDIS_URL)\n"
    status, _, message = command("import", "--input", str(file))
    assert (status, message.endswith("; what was imported stays, so import again\n")) == (3, True)


def test_unreadable_record_makes_the_export_incomplete(command: Command, redis: RedisServer) -> None:
    key_id = command("create", "--name", "alice")[1].split("_")[1]
    redis.client.set(f"{PREFIX}key:{key_id}", "{}")
    status, content, message = command("export")
    assert (status, content.count("\n")) == (1, 2)
    assert f"keys: warning: not in the backup, because another version wrote them: {key_id}" in message


def test_backup_goes_through_pipes(redis: RedisServer, command: Command) -> None:
    command("create", "--name", "alice")
    run = [sys.executable, "-m", "proxy", "keys"]
    environment = {**os.environ, "PROXY_REDIS_URL": redis.url, "PROXY_REDIS_PREFIX": PREFIX}
    process = functools.partial(subprocess.run, cwd=ROOT, env=environment, timeout=60, check=False)
    saved = process([*run, "export"], capture_output=True)
    assert saved.returncode == 0
    redis.client.flushall()
    done = process([*run, "import"], capture_output=True, input=saved.stdout)
    assert (done.returncode, b"1 added" in done.stdout) == (0, True)
    with Path("/dev/full").open("wb") as full:
        done = process([*run, "export"], stdout=full, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (2, b"keys: standard output: No space left on device\n")
    here, there = os.openpty()
    done = process([*run, "import"], stdin=there, stderr=subprocess.PIPE)
    os.close(here)
    os.close(there)
    assert (done.returncode, b"give the backup on standard input" in done.stderr) == (4, True)


def test_full_disk_keeps_the_last_backup(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "keys.jsonl"
    command("create", "--name", "alice")
    command("export", "--output", str(file))
    kept = file.read_bytes()

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    assert command("export", "--output", str(file))[0] == 2
    assert (file.read_bytes(), [each.name for each in tmp_path.iterdir()]) == (kept, ["keys.jsonl"])


def test_create_and_limit_warn_of_pairs_and_names(command: Command, redis: RedisServer) -> None:
    warn = "keys: warning: "
    assert warn not in command("create", "--name", "a", "--pairs", "enn-de")[2], "no pair is known yet"
    redis.client.zadd(f"{PREFIX}pairs", {"en>de": time.time(), "de>fr": time.time()})
    redis.client.expire(f"{PREFIX}pairs", 60)
    status, shown, message = command("create", "--name", "b", "--pairs", "enn-de,en-fr")
    assert (status, SHOWN.fullmatch(shown.strip()) is not None) == (0, True), "a hint, no refusal"
    assert f"{warn}no server has been seen for enn-de; the pairs that exist: de-fr, en-de\n" in message
    key_id = shown.split("_")[1]
    assert f"{warn}the name b is also that of the key {key_id}" in command("create", "--name", "b")[2]
    assert command("limit", key_id, "--chars-per-day", "5")[2] == ""
    assert f"{warn}no server has been seen for de-en;" in command("limit", key_id, "--pairs", "de-en")[2]
    assert f"{warn}the name a is also" in command("limit", key_id, "--name", "a")[2]


def test_wrong_settings_and_missing_redis_have_exit_statuses(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROXY_REDIS_URL", nowhere())
    status, _, message = command("list")
    assert (status, "Redis" in message) == (3, True)
    monkeypatch.setenv("PROXY_REDIS_URL", "hunter2")
    status, _, message = command("list")
    assert (status, "PROXY_REDIS_URL" in message, "hunter2" in message) == (2, True, False)
    monkeypatch.setenv("PROXY_REDIS_ULR", "x")
    status, _, message = command("list")
    assert (status, "did you mean PROXY_REDIS_URL?" in message) == (2, True)


def test_package_runs_as_a_module(redis: RedisServer) -> None:
    environment = {**os.environ, "PROXY_REDIS_URL": redis.url, "PROXY_REDIS_PREFIX": PREFIX}
    run = [sys.executable, "-m", "proxy", "keys", "create", "--name", "bob"]
    done = subprocess.run(run, cwd=ROOT, env=environment, capture_output=True, text=True, check=True, timeout=60)
    assert SHOWN.fullmatch(done.stdout.strip())


def refusal(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Parse wrong arguments; return the message."""
    with pytest.raises(SystemExit) as exit_:
        program.parse(["keys", *arguments])
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
        (
            [*CREATE, "--scope", "root"],
            "--scope: invalid choice: 'root' (choose from 'translate', 'observe', 'operate')",
        ),
        (["limit", "0123456789ab", "--expires", "0h"], "--expires: '0h' is in the past; write 30d, "),
        (["limit", "0123456789ab", "--expires", "9999-12-31T23:00:00-14:00"], "is after the year 9999; write 30d, "),
        (["import", "--output", "keys.jsonl"], "unrecognized arguments: --output"),
    ],
)
def test_wrong_grants_exit_with_a_message(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in refusal(arguments, capsys)


@pytest.mark.parametrize("name", ["list", "limit", "revoke"])
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
    options = vars(program.parse(["keys", "limit", "0123456789ab", *arguments]))
    assert {name: options[name] for name in options.keys() & Grant.model_fields.keys()} == expected


def test_expiry_counts_from_now() -> None:
    assert program.parse(["keys", *CREATE, "--expires", "12h"]).expires_at == pytest.approx(
        time.time() + 12 * 3600, abs=60
    )


def test_backup_commands_take_files() -> None:
    assert program.parse(["keys", "export", "--output", "a"]).output == Path("a")
    options = program.parse(["keys", "import"])
    assert (options.input, options.undo_revocations, options.json) == (None, False, False)
