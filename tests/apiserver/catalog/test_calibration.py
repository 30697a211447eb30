"""Calibration files: what is read, and what is refused."""

from __future__ import annotations

from math import exp, isclose
from pathlib import Path
from typing import Any

import pytest
import yaml

from apiserver.catalog import calibration, loader
from apiserver.catalog.calibration import GOOD_CHRF, Calibration, CalibrationError, CalibrationFile, Signals
from apiserver.catalog.model_fingerprint import weights_fingerprint

ONE = Calibration(constant=1.0, mean=2.0, length=-0.25)
FILE = CalibrationFile(fingerprint="f00d", good_chrf=GOOD_CHRF, pairs={"en-de": ONE})


def written(folder: Path, **changes: Any) -> Path:
    path = folder / "m.yaml"
    path.write_text(yaml.safe_dump({**FILE.model_dump(), **changes}))
    return path


def test_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_text("# measured\n" + FILE.to_yaml())
    assert calibration.read(path, "f00d") == {"en-de": ONE}
    assert "uncertain_below" not in path.read_text()


def test_bound_of_doubt_is_kept(tmp_path: Path) -> None:
    bound = ONE.model_copy(update={"uncertain_below": 0.3})
    path = tmp_path / "m.yaml"
    path.write_text(FILE.model_copy(update={"pairs": {"en-de": bound}}).to_yaml())
    assert calibration.read(path, "f00d")["en-de"].uncertain_below == 0.3


def test_model_without_a_file_has_none(tmp_path: Path) -> None:
    path = calibration.path_for(tmp_path / "models.yaml", "en-de")
    assert path == tmp_path / "calibration" / "en-de.yaml"
    assert calibration.read(path, "f00d") == {}


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"fingerprint": "other"}, "other weights"),
        ({"good_chrf": 40.0}, "for chrF 40, not 50"),
        ({"pairs": {"en-de": {**ONE.model_dump(), "mean": -1.0}}}, "not a calibration"),
        ({"pairs": {"en-de": {**ONE.model_dump(), "length": 0.1}}}, "not a calibration"),
        ({"pairs": {"en-de": {**ONE.model_dump(), "constant": float("nan")}}}, "not a calibration"),
        ({"pairs": {"en-de": {**ONE.model_dump(), "uncertain_below": 1.1}}}, "not a calibration"),
        ({"pairs": ["en-de"]}, "not a calibration"),
        ({"secret": 1}, "not a calibration"),
    ],
)
def test_wrong_files_are_refused(tmp_path: Path, changes: dict[str, Any], why: str) -> None:
    with pytest.raises(CalibrationError, match=why):
        calibration.read(written(tmp_path, **changes), "f00d")


@pytest.mark.parametrize("content", [b"", b"- 1", b"\xff\xfe", b"a: [", b"a: b: c", b"x" * (calibration.MAX_BYTES + 1)])
def test_other_content_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "m.yaml"
    path.write_bytes(content)
    with pytest.raises(CalibrationError):
        calibration.read(path, "f00d")


def test_probability_is_logistic_and_bears_any_signal() -> None:
    assert isclose(ONE.probability(Signals(-1.0, 4.0)), 1 / (1 + exp(2.0)))
    assert ONE.probability(Signals(-1e300, 1e9)) == pytest.approx(0.0)
    assert ONE.probability(Signals(0.0, 0.0)) < 1


def test_demo_models_have_the_calibration_of_their_weights() -> None:
    """After new weights or another entry: make calibrate."""
    catalog = Path("deploy/models/demo.yaml")
    for entry in loader.load(catalog):
        path = calibration.path_for(catalog, entry.name)
        assert set(calibration.read(path, weights_fingerprint(entry, None))) == set(map(str, entry.all_pairs))
