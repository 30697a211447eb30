"""Sampling: how the next token is chosen, at first and at a retry."""

from __future__ import annotations

from typing import Final

from pydantic import BaseModel, ConfigDict, Field, StrictInt


class Sampling(BaseModel):
    """How the next token is chosen; greedy by default. Of a catalog's entry only the fields that are written count."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    temperature: float = Field(default=0.0, ge=0, le=2)
    top_p: float = Field(default=1.0, gt=0, le=1)
    top_k: int = Field(default=0, ge=-1)
    repetition_penalty: float = Field(default=1.0, gt=0, le=2)
    presence_penalty: float = Field(default=0.0, ge=-2, le=2)
    frequency_penalty: float = Field(default=0.0, ge=-2, le=2)
    seed: int | None = None
    stop_token_ids: tuple[StrictInt, ...] = Field(default=(), strict=False)

    def overridden(self, written: Sampling) -> Sampling:
        """Return this sampling with every field that ``written`` was given explicitly, and only those, replaced."""
        return self.model_copy(update={name: getattr(written, name) for name in written.model_fields_set})


# A greedy loop needs a nudge, not another style: warm enough to leave the path, narrow enough to stay a translation,
# and a penalty for what the answer has said already. Measured in docs/decisions/0011-translation-core.md.
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


def retry_sampling(first: Sampling) -> Sampling:
    """Return a decoding that is unlike the first: sampled where that was greedy, greedy where it was sampled."""
    return first.model_copy(update=WARM if first.temperature == 0 else COLD)
