"""Separators between translated segments."""

from __future__ import annotations

import pytest

from apiserver.formats.document import placeholder_char
from apiserver.segmentation.rejoin import separator

OPEN, CLOSE = placeholder_char(0), placeholder_char(1)


@pytest.mark.parametrize(
    ("gap", "before", "after", "source", "target", "expected"),
    [
        ("", "Hello.", "World.", "zh", "en", " "),
        ("", "Hello.", "World.", "ja", "ko", " "),
        ("", "Hello.", "World.", "yue", "th", " "),
        ("", "Hello", "world", "th", "en", " "),
        ("", f"Hello.{CLOSE}", f"{OPEN}World.", "zh-TW", "de", " "),
        ("", "He said (", "hello)", "zh", "en", ""),
        ("", "Hello", ", world", "zh", "en", ""),
        ("", "Hello", "” she said", "zh", "en", ""),
        ("", "你好。", "世界。", "ja", "zh", ""),
        ("", "Ha", "us", "en", "de", ""),
        ("", "", "World.", "zh", "en", ""),
        (" ", "你好。", "世界。", "en", "zh", ""),
        (" ", f"你好。{CLOSE}", "世界。", "en", "zh-Hant", ""),
        (" ", "你好。", "“世界”。", "ko", "ja", ""),
        (" ", "你好。", "Tom来了。", "en", "zh", " "),
        (" ", "你好。", "世界。", "zh", "ja", " "),
        (" ", "Hallo.", "Welt.", "en", "de", " "),
        ("\u00a0", "你好。", "世界。", "fr", "zh", "\u00a0"),
        ("\n", "你好。", "世界。", "en", "zh", "\n"),
        ("  ", "你好。", "世界。", "en", "zh", "  "),
        ("\t", "Hello.", "World.", "zh", "en", "\t"),
    ],
)
def test_separator_suits_the_target_language(
    gap: str, before: str, after: str, source: str, target: str, expected: str
) -> None:
    assert separator(gap, before, after, source, target) == expected
