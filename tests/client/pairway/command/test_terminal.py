"""What only a terminal shows: the live status and progress; and what a shell completes."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from pairway.command import status

from tests.client.pairway.command.command_line import Ended, Program
from tests.proxy.proxies import RunningProxy, fleet_fixtures
from tests.support.fake_replica import FakeReplica

fake, running, fresh = fleet_fixtures("en>de", cache_bytes=0)


@pytest.fixture(autouse=True)
def _terminal(monkeypatch: pytest.MonkeyPatch, run: Program, running: RunningProxy) -> None:
    assert run
    monkeypatch.setenv("PAIRWAY_URL", running.url)
    monkeypatch.setenv("TERM", "xterm")


async def test_status_is_live_until_interrupted(
    run: Program, monkeypatch: pytest.MonkeyPatch, fake: FakeReplica
) -> None:
    """A server that goes away meanwhile is said, beside what was known last."""
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 2:
            monkeypatch.setattr(status, "_read", _away)
        if len(pauses) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(status, "time", SimpleNamespace(sleep=sleep))
    ended = await asyncio.to_thread(on_a_terminal, run, monkeypatch, "stdout", "status")
    assert ended.code == 0
    first, _, last = ended.out.partition("it went away")
    assert fake.url in first
    assert fake.url in last


def on_a_terminal(run: Program, monkeypatch: pytest.MonkeyPatch, output: str, *arguments: str) -> Ended:
    """Run the command where this output, which pytest replaces for each phase of a test, is a terminal."""
    monkeypatch.setattr(getattr(sys, output), "isatty", lambda: True)
    return run(*arguments)


def _away(_client: object) -> dict[str, object]:
    raise status.PairwayError("it went away")


async def test_progress_is_shown_beside_results_elsewhere(
    run: Program, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in "abc":
        (tmp_path / f"{name}.md").write_text(f"Hello {name}")
    translate = "translate", "*.md", "--to", "de", "--from", "en", "--json"
    ended = await asyncio.to_thread(on_a_terminal, run, monkeypatch, "stderr", *translate)
    assert ended.code == 0
    assert "3 of 3 files" in ended.err
    assert "3 files translated, 0 failed" in ended.err
    assert ended.out.count('"output"') == 3


@pytest.mark.parametrize(
    ("shell", "more"),
    [
        ("bash", {"COMP_WORDS": "pairway tra", "COMP_CWORD": "1"}),
        ("zsh", {"_TYPER_COMPLETE_ARGS": "pairway tra"}),
        ("fish", {"_TYPER_COMPLETE_ARGS": "pairway tra", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}),
    ],
)
def test_shell_completes_commands(
    run: Program, monkeypatch: pytest.MonkeyPatch, shell: str, more: dict[str, str]
) -> None:
    for name, value in {"_PAIRWAY_COMPLETE": f"complete_{shell}", **more}.items():
        monkeypatch.setenv(name, value)
    ended = run()
    assert ended.code == 0
    assert "translate" in ended.out
    assert "languages" not in ended.out
