"""The second decoding: how the next token is chosen when the first way led nowhere. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from apiserver.sampling import Sampling

# A greedy loop needs a nudge, not another style: warm enough to leave the path, narrow enough to stay a translation,
# and a penalty for what the answer has said already (prompt tokens do not count, so names of the text cost nothing). Of
# 176 hostile segments whose first answer was faulty this mended 41 %; without the penalty 17 %, with 0.3 32 %, greedy
# with 0.5 31 %, greedy with a repetition penalty of 1.2 27 %, at a temperature of 0.7 with 0.3 35 %.
WARM: Final[dict[str, float | int]] = {
    "temperature": 0.5,
    "top_p": 0.9,
    "frequency_penalty": 0.8,
    # Fixed, so that the same request gets the same answer.
    "seed": 1,
}
# What was sampled is decoded greedily, with the same penalty.
COLD: Final[dict[str, float | int | None]] = {
    "temperature": 0.0,
    "top_p": 1.0,
    "top_k": 0,
    "frequency_penalty": 0.8,
    "seed": None,
}


def second_decoding(first: Sampling) -> Sampling:
    """Return a decoding that is unlike the first: sampled where that was greedy, greedy where it was sampled."""
    return first.model_copy(update=WARM if first.temperature == 0 else COLD)
