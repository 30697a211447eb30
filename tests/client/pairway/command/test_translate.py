"""The command `translate`, with a proxy and fake replicas: what goes wrong first."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.client.pairway.command.command_line import Ended, Program
from tests.conftest import RedisServer
from tests.proxy.proxies import RunningProxy, proxy
from tests.support.fake_replica import FakeReplica, Script, replicas
from tests.support.processes import ROOT
from tests.support.waiting import wait_until

COMMAND = [sys.executable, "-c", "from pairway.command.main import main; main()", "translate"]


@pytest.fixture(name="fake")
async def _fake() -> AsyncGenerator[FakeReplica]:
    fake = FakeReplica("en>de", "en>fr", name="fake")
    async with replicas(fake):
        yield fake


@pytest.fixture(name="running")
async def _running(
    fake: FakeReplica, redis: RedisServer, run: Program, monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[RunningProxy]:
    assert run
    async with proxy([fake], redis.url) as one:
        monkeypatch.setenv("PAIRWAY_URL", one.url)
        yield one


async def translate(run: Program, *arguments: str, given: str = "") -> Ended:
    """Run the command beside the proxy's event loop."""
    return await asyncio.to_thread(run, "translate", *arguments, given=given)


def texts_of(fake: FakeReplica) -> list[str]:
    bodies = [each.body["text"] for each in fake.requests]
    return sorted(text for body in bodies for text in ([body] if isinstance(body, str) else body))


def found(folder: Path, pattern: str) -> list[Path]:
    return list(folder.glob(pattern))


def write(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        (folder / f"{name}.md").write_text(text)


async def test_text_is_printed(run: Program, running: RunningProxy, fake: FakeReplica) -> None:
    assert running
    ended = await translate(run, "Where is it?", "--to", "de", "--from", "en")
    assert ended == Ended(0, "[en>de by fake] Where is it?\n", "")
    assert fake.requests[0].headers["x-priority"] == "interactive"


async def test_several_languages_are_named(run: Program, running: RunningProxy) -> None:
    assert running
    ended = await translate(run, "Hello", "--to", "de,fr", "--from", "en")
    assert ended.out == "de: [en>de by fake] Hello\nfr: [en>fr by fake] Hello\n"


async def test_unknown_pair_is_refused(run: Program, running: RunningProxy) -> None:
    assert running
    assert (await translate(run, "Hello", "--to", "tlh", "--from", "en")).code == 4


async def test_input_is_one_text(run: Program, running: RunningProxy, fake: FakeReplica) -> None:
    assert running
    ended = await translate(run, "--to", "de", "--from", "en", "--json", given="One\nTwo\n")
    assert json.loads(ended.out)["translation"] == "[en>de by fake] One\nTwo\n"
    assert fake.requests[0].headers["x-priority"] == "bulk"


async def test_files_become_files(run: Program, running: RunningProxy, tmp_path: Path) -> None:
    assert running
    write(tmp_path, a="Hello", b="Good morning")
    ended = await translate(run, "*.md", "--to", "de,fr", "--from", "en")
    assert ended == Ended(0, "", "")
    assert (tmp_path / "a.de.md").read_text() == "[en>de by fake] Hello"
    assert (tmp_path / "b.fr.md").read_text() == "[en>fr by fake] Good morning"


async def test_second_run_does_only_what_changed(
    run: Program, running: RunningProxy, fake: FakeReplica, tmp_path: Path
) -> None:
    """The outputs of the first, which the pattern fits too, are no inputs."""
    assert running
    write(tmp_path, a="Hello", b="Good morning")
    await translate(run, "*.md", "--to", "de", "--from", "en")
    write(tmp_path, b="Good evening")
    (tmp_path / "a.de.md").write_text("corrected by hand")
    fake.requests.clear()
    ended = await translate(run, "*.md", "--to", "de", "--from", "en")
    assert ended.code == 0
    assert "1 files translated, 1 were done before" in ended.err
    assert texts_of(fake) == ["Good evening"]
    assert (tmp_path / "a.de.md").read_text() == "corrected by hand"
    assert not found(tmp_path, "*.de.de.md")


async def test_missing_output_is_written_again(run: Program, running: RunningProxy, tmp_path: Path) -> None:
    assert running
    write(tmp_path, a="Hello")
    for _ in range(2):
        await translate(run, "a.md", "--to", "de", "--from", "en")
        assert (tmp_path / "a.de.md").exists()
        (tmp_path / "a.de.md").unlink()


async def test_one_failure_does_not_stop_the_others(
    run: Program, running: RunningProxy, fake: FakeReplica, tmp_path: Path
) -> None:
    assert running
    write(tmp_path, a="Hello", b="Good morning")
    (tmp_path / "c.md").write_bytes(b"caf\xe9")
    ended = await translate(run, "*.md", "--to", "de", "--from", "en")
    assert ended.code == 1
    assert "c.md is not UTF-8: byte 0xe9 at 3" in ended.err
    assert "2 files translated, 1 failed" in ended.err
    assert texts_of(fake) == ["Good morning", "Hello"]


async def test_lines_keep_their_places(run: Program, running: RunningProxy) -> None:
    assert running
    given = "".join(f"Line {number}\n" if number % 7 else "\n" for number in range(200))
    ended = await translate(run, "--lines", "--to", "de", "--from", "en", given=given)
    assert ended.code == 0
    assert ended.out == given.replace("Line", "[en>de by fake] Line")


async def test_markup_that_is_too_large_fails_alone(run: Program, running: RunningProxy) -> None:
    """It cannot be cut, and its list is refused whole; the other lines are translated."""
    assert running
    given = f"<p>One</p>\n<p>{'x' * 300_000}</p>\n<p>Two</p>\n"
    ended = await translate(run, "--lines", "--format", "html", "--to", "de", "--from", "en", given=given)
    assert ended.code == 1
    assert ended.out == "[en>de by fake] <p>One</p>\n\n[en>de by fake] <p>Two</p>\n"
    assert "line 2: too-large" in ended.err


async def test_first_answer_comes_before_the_last_line(running: RunningProxy, run: Program) -> None:
    assert run
    program = await _started(running, "--lines", "--to", "de", "--from", "en")
    assert program.stdin is not None
    assert program.stdout is not None
    program.stdin.write(b"".join(b"Line %d\n" % number for number in range(199)))
    first = await program.stdout.readline()
    assert first == b"[en>de by fake] Line 0\n"
    rest, _ = await program.communicate(b"Line 199\n")
    assert rest.endswith(b"[en>de by fake] Line 199\n")
    assert rest.count(b"\n") == 199


async def test_interrupted_run_goes_on(running: RunningProxy, run: Program, fake: FakeReplica, tmp_path: Path) -> None:
    """Exit code 130, no half file, and nothing is sent again whose answer had arrived."""
    for number in range(40):
        (tmp_path / f"{number}.txt").write_text(f"Text {number}")
    fake.translate = Script(delay=0.1)
    program = await _started(running, "*.txt", "--to", "de", "--from", "en")
    await wait_until(lambda: len(found(tmp_path, "*.de.txt")) > 5, 30, "some outputs")
    program.send_signal(signal.SIGINT)
    _, said = await program.communicate()
    assert b"the same command goes on where it stopped" in said
    assert program.returncode == 130
    assert not found(tmp_path, ".*.part")
    whole = found(tmp_path, "*.de.txt")
    assert all(path.read_text().startswith("[en>de by fake] Text") for path in whole)
    fake.requests.clear()
    assert (await translate(run, "*.txt", "--to", "de", "--from", "en")).code == 0
    assert len(found(tmp_path, "*.de.txt")) == 40
    assert len(texts_of(fake)) == 40 - len(whole)


async def test_full_fleet_is_waited_for(run: Program, running: RunningProxy, fake: FakeReplica, tmp_path: Path) -> None:
    """A call's deadline passes meanwhile, the run's does not."""
    assert running
    write(tmp_path, a="Hello")
    fake.translate = Script(problem=(503, "overloaded"))
    work = asyncio.create_task(translate(run, "a.md", "--to", "de", "--from", "en", "--timeout", "0.2"))
    await wait_until(lambda: len(fake.requests) > 1, 30, "a second attempt")
    fake.translate = Script()
    ended = await work
    assert ended.code == 0
    assert ended.err.count("waiting for the server, 600 s at most: overloaded") == 1
    assert (tmp_path / "a.de.md").exists()


async def test_wait_has_an_end(run: Program, running: RunningProxy, fake: FakeReplica) -> None:
    assert running
    fake.translate = Script(problem=(503, "overloaded"))
    ended = await translate(run, "Hello", "--to", "de", "--from", "en", "--timeout", "0.2", "--wait", "0")
    assert ended.code == 3


async def _started(running: RunningProxy, *arguments: str) -> asyncio.subprocess.Process:
    environment = {**os.environ, "PAIRWAY_URL": running.url, "PYTHONPATH": str(ROOT / "client"), "LC_ALL": "C"}
    return await asyncio.create_subprocess_exec(
        *COMMAND, *arguments, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
