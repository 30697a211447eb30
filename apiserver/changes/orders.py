"""Orders of operators: change, roll back, reload."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator


class ChangeOrder(BaseModel):
    """An operator's order to change a model."""

    model_config = ConfigDict(extra="forbid", strict=True)

    model: str = Field(description="Name of the hosted model to replace.", max_length=64)
    entry: str = Field(description="Name of the catalog's entry that replaces it; it may be the same.", max_length=64)
    hold: bool = Field(default=False, description="Load and prove the new model, but wait for the switch.")
    swap: bool = Field(default=False, description="Unload the old model first, where memory is short.")

    @field_validator("swap")
    @classmethod
    def _excludes_hold(cls, swap: bool, info: ValidationInfo) -> bool:  # noqa: FBT001 - pydantic calls it so
        if swap and info.data.get("hold"):
            raise ValueError("hold and swap exclude each other: a swap leaves no old model to serve meanwhile")
        return swap


class RollbackOrder(BaseModel):
    """An operator's order to return to the model before."""

    model_config = ConfigDict(extra="forbid", strict=True)

    model: str | None = Field(
        default=None, description="Name of the hosted model; default: that of the last change.", max_length=64
    )
    swap: bool = Field(default=False, description="Unload the present model first, where memory is short.")


class ReloadOrder(BaseModel):
    """An operator's order to follow the catalog on disk."""

    model_config = ConfigDict(extra="forbid", strict=True)

    swap: bool = Field(default=False, description="Unload each old model first, where memory is short.")
