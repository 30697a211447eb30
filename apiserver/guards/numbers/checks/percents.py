"""Percents: numbers that lost their percent sign or word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from apiserver.guards.numbers.mentions import NumberMention

# In every language with number words, and as Chinese, Japanese and Korean write them.
_PERCENT_BEHIND: Final = re.compile(r"\s?(?:[%％]|per\s?cent\b|Prozent\b|pour\scent\b|por\sciento\b|パーセント|퍼센트)")
# More leniently: "25-prozentig", 百分之二十五, 25プロ.
_PERCENT: Final = re.compile(
    r"[%％‰]|\bper\s?cents?\b|prozent|pour\scent|por\sciento|パーセント|プロ|割|퍼센트|프로|百分", re.IGNORECASE
)


def lost_percents(
    source: str, translation: str, ours: Sequence[NumberMention], theirs: Sequence[NumberMention]
) -> Iterator[tuple[int, int]]:
    """Yield the source's percents whose numbers alone are in the translation.

    "50 percent" may become "half": then the number is not there either.
    """
    percents = [
        (mention, match) for mention in ours if (match := _PERCENT_BEHIND.match(source, mention.end)) is not None
    ]
    if not percents or _PERCENT.search(translation) is not None:
        return
    values = {value for mention in theirs if mention.is_demanded for reading in mention.readings for value in reading}
    for mention, match in percents:
        if any(values.issuperset(reading) for reading in mention.readings):
            yield mention.start, match.end()
