"""Calibration: from an output's signals to the probability of a good translation.

``make calibrate`` writes each model's file beside the catalog: ``calibration/NAME.yaml``.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import exp
from pathlib import Path
from typing import Annotated, Final, NamedTuple

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

# A good translation's least sentence chrF (sacrebleu) with its reference.
GOOD_CHRF: Final = 50.0
FOLDER: Final = "calibration"
MAX_BYTES: Final = 1_048_576  # a file has a few lines for each pair
_LARGEST_EXPONENT: Final = 700.0  # exp() of more overflows


class CalibrationError(ValueError):
    """A calibration's file is wrong, or of another model."""


class Signals(NamedTuple):
    """Signals of one output.

    ``mean`` of its tokens' log-probabilities; ``length``: deviation from the expected length, in roots of it.
    """

    mean: float
    length: float


class Calibration(BaseModel):
    """Logistic regression of one pair; a better signal never lowers the result.

    A confidence under ``uncertain_below`` tells a person to check; None: no such bound tells enough.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    constant: float
    mean: Annotated[float, Field(ge=0)]
    length: Annotated[float, Field(le=0)]
    uncertain_below: Annotated[float, Field(gt=0, le=1)] | None = None

    def probability(self, signals: Signals) -> float:
        """Return the probability (0..1) of a good output."""
        score = self.constant + self.mean * signals.mean + self.length * signals.length
        return 1 / (1 + exp(min(-score, _LARGEST_EXPONENT)))


class CalibrationFile(BaseModel):
    """Content of a model's file; ``pairs`` by label, such as en-de."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    fingerprint: str
    good_chrf: float
    pairs: dict[str, Calibration]

    def to_yaml(self) -> str:
        """Return the file's text."""
        return yaml.safe_dump(self.model_dump(exclude_none=True), sort_keys=False)


def path_for(catalog: Path, model: str) -> Path:
    """Return the file of a model in this catalog."""
    return catalog.parent / FOLDER / f"{model}.yaml"


def read(path: Path, fingerprint: str) -> Mapping[str, Calibration]:
    """Return calibrations by pair; CalibrationError for a wrong file, or another model's."""
    if not path.is_file():
        return {}
    try:
        if path.stat().st_size > MAX_BYTES:
            raise CalibrationError(f"{path} is larger than {MAX_BYTES} bytes")
        content = CalibrationFile.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, yaml.YAMLError, ValidationError) as error:
        raise CalibrationError(f"{path} is not a calibration: {type(error).__name__}; make it again") from error
    if content.good_chrf != GOOD_CHRF:
        raise CalibrationError(f"{path} was made for chrF {content.good_chrf:g}, not {GOOD_CHRF:g}; make it again")
    if content.fingerprint != fingerprint:
        raise CalibrationError(
            f"{path} was made with other weights, prompt, sampling or masks ({content.fingerprint}, now {fingerprint}); make it again"
        )
    return content.pairs
