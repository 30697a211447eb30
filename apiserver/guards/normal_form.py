"""Normal forms of Unicode, in linear time."""

from __future__ import annotations

import re
import unicodedata
from typing import Final, Literal

# Unicode sorts each run of marks by insertion, so a run costs the square of its length: 16,000 marks take 0.25 s, in which
# no other thread runs. Standard Annex 15 lets an invisible joiner follow each 30 of them (stream-safe text, section 13).
# The two letters are marks in a compatible form.
_MARKS: Final = re.compile(r"(?:[^\w\s\x00-\x7f]|[\uff9e\uff9f]){30}")
_JOINER: Final = "\u034f"


def normalized(form: Literal["NFKC", "NFKD"], text: str) -> str:
    """Return a text's normal form, with long runs of marks divided."""
    return unicodedata.normalize(form, _MARKS.sub(rf"\g<0>{_JOINER}", text))
