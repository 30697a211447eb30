"""Sampling: how the next token is chosen."""

from __future__ import annotations

from typing import Final

from pydantic import BaseModel, ConfigDict, Field, StrictInt


class Sampling(BaseModel):
    """Choice of the next token; greedy by default."""

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
        """Return this sampling with the fields that ``written`` sets."""
        return self.model_copy(update={name: getattr(written, name) for name in written.model_fields_set})


# It leaves greedy loops, but stays a translation (docs/decisions/0011-translation-core.md).
WARM: Final[dict[str, float | int]] = {
    "temperature": 0.5,
    "top_p": 0.9,
    "frequency_penalty": 0.8,
    "seed": 1,  # the same request gets the same answer
}
# After a sampled first output.
COLD: Final[dict[str, float | int | None]] = {
    "temperature": 0.0,
    "top_p": 1.0,
    "top_k": 0,
    "frequency_penalty": 0.8,
    "seed": None,
}


# Of alternatives, among the likeliest tokens (docs/decisions/0027-request-options.md).
ALTERNATIVE_TEMPERATURES: Final = (0.6, 0.8, 1.0)
ALTERNATIVE_TOKENS: Final = 3


def alternative_sampling(first: Sampling, number: int) -> Sampling:
    """Return the sampling of an alternative, numbered from 0."""
    update = {
        "temperature": max(first.temperature, ALTERNATIVE_TEMPERATURES[number]),
        "top_p": 1.0,
        "top_k": ALTERNATIVE_TOKENS,
        "seed": number + 1,  # the same request gets the same answer
    }
    return first.model_copy(update=update)


def retry_sampling(first: Sampling) -> Sampling:
    """Return a sampling unlike the first: greedy if the first was not."""
    return first.model_copy(update=WARM if first.temperature == 0 else COLD)
