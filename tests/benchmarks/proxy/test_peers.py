"""The table of peers, and their environments."""

from __future__ import annotations

from pathlib import Path
from string import Template
from typing import Any

import pytest

from benchmarks.proxy.__main__ import chosen
from benchmarks.proxy.peers.definitions import (
    AGAIN,
    BEFORE,
    HERE,
    OURS,
    PEERS,
    RUST,
    STAMP,
    VERSIONS,
    Peer,
    PeerMissingError,
)


def test_another_checkout_needs_its_folder() -> None:
    assert BEFORE not in [peer.name for peer in chosen("", None)]
    assert [peer.name for peer in chosen("", Path())] == [OURS, AGAIN, BEFORE]
    with pytest.raises(SystemExit, match=f"there is no {BEFORE}"):
        chosen(BEFORE, None)


def test_peers_can_be_filled_in() -> None:
    names = ("bin", "first", "folder", "port", "python", "redis", "second", "spare", "before")
    values: dict[str, str] = dict.fromkeys(names, "x")
    for peer in (*PEERS, *VERSIONS):
        Template(peer.command).substitute(values)
        for value in peer.variables.values():
            Template(value).substitute(values)
    assert len({peer.name for peer in PEERS}) == len(PEERS)


def test_installed_peer_is_not_installed_again(tmp_path: Any) -> None:
    (peer,) = (each for each in PEERS if each.name == RUST)
    (tmp_path / RUST).mkdir()
    (tmp_path / RUST / STAMP).write_text((HERE / f"{RUST}.txt").read_text())
    assert peer.programs(tmp_path) == tmp_path / RUST / "bin"
    with pytest.raises(PeerMissingError, match="not on the PATH"):
        Peer("another", "no-such-program-anywhere -x").programs(tmp_path)
