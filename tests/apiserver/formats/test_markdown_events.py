"""Markdown events: their offsets count characters."""

from __future__ import annotations

import pytest

from apiserver.formats.markdown_events import EventKind, defines_references, markdown_events


@pytest.mark.parametrize("text", ["a *b* c", "é *日本* 🎉", "\ud800 *b*"])
def test_offsets_count_characters(text: str) -> None:
    (start,) = [event for event in markdown_events(text) if event.kind is EventKind.START and event.tag == "Emphasis"]
    assert text[start.start] == text[start.end - 1] == "*"
    assert start.start == text.index("*")


@pytest.mark.parametrize(("text", "expected"), [("[a]: /x\n", True), ("[a](/x)\n", False)])
def test_definitions_are_found(text: str, expected: bool) -> None:
    assert defines_references(text) is expected


def test_links_know_their_kind() -> None:
    kinds = [event.detail for event in markdown_events("[a](/x) [b]\n\n[b]: /y\n") if event.tag == "Link"]
    assert [kind for kind in kinds if kind] == ["Inline", "Shortcut"]
