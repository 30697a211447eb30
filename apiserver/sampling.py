"""Sampling: how the next token is chosen; vLLM's names and meanings."""

from __future__ import annotations

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
