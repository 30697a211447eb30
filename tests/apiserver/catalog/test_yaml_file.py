"""The catalog's YAML: lines of values, refusals with a message, bounded unfolding."""

from __future__ import annotations

from pathlib import Path

import pytest

from apiserver.catalog import yaml_file
from apiserver.catalog.loader import load
from apiserver.catalog.yaml_file import MAX_VALUES, CatalogError, CatalogFile, read


def write(folder: Path, text: str) -> Path:
    path = folder / "models.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def content(folder: Path, text: str) -> CatalogFile:
    return read(write(folder, text))


def test_values_have_the_line_of_their_key(tmp_path: Path) -> None:
    file = content(tmp_path, "a:\n  b: 1\n  c:\n    - x\n    - y: [1,\n        2]\n")
    assert file.content == {"a": {"b": 1, "c": ["x", {"y": [1, 2]}]}}
    assert file.lines[("a",)] == 1
    assert file.lines["a", "b"] == 2
    assert file.lines["a", "c"] == 3
    assert file.lines["a", "c", 1, "y"] == 5
    assert file.lines["a", "c", 1, "y", 1] == 6


def test_issue_of_a_missing_value_has_its_parents_line(tmp_path: Path) -> None:
    file = content(tmp_path, "a: 1\nb:\n  c: 2\n")
    assert file.issue(("b", "path"), "").line == 2
    assert file.issue(("z",), "").line == 1


def test_anchors_and_merges_are_unfolded(tmp_path: Path) -> None:
    file = content(tmp_path, "a: &a {x: 1, y: [1]}\nb: &b {x: 2, z: 3}\nc:\n  y: 9\n  <<: [*a, *b]\nd: *a\n")
    assert file.content == {
        "a": {"x": 1, "y": [1]},
        "b": {"x": 2, "z": 3},
        "c": {"x": 1, "y": 9, "z": 3},
        "d": {"x": 1, "y": [1]},
    }
    assert file.lines["c", "y"] == 4
    assert file.issues == ()


def test_wrong_keys_are_collected_and_the_rest_is_read(tmp_path: Path) -> None:
    file = content(tmp_path, "a: 2026-13-45\nno: 1\nb: 2\nb: 3\n[c]: 4\nd: 5\n")
    assert file.content == {"a": None, "b": 2, "d": 5}
    assert [(fault.line, fault.message.split(";")[0]) for fault in file.issues] == [
        (1, "'2026-13-45' looks like a timestamp: month must be in 1..12"),
        (2, "a key must be text, but YAML does not read no as text"),
        (4, "'b' is written twice, first in line 3"),
        (5, "a key must be text, but YAML does not read this as text"),
    ]


RUBBISH = {
    "empty": ("", "models.yaml:1: must contain one key, models:"),
    "no models": ("models:", "models.yaml:1: must contain one key, models:"),
    "comments alone": ("# x\n# y\n", "models.yaml:1: must contain one key, models:"),
    "models a list": ("# x\nmodels: []", "models.yaml:2: must contain one key, models:"),
    "models empty": ("models: {}", "must contain one key, models:"),
    "a list": ("[]", "models.yaml:1: must contain one key, models:"),
    "words": ("just words", "models.yaml:1: must contain one key, models:"),
    "two keys": ("models: {a: {}}\nmodel: {}", "models.yaml:2: must contain one key, models:"),
    "a tab": ("models:\n\t- x", "models.yaml:2: not YAML: while scanning for the next token"),
    "deep braces": ("{" * 20_000, "models.yaml:1: not YAML: nested deeper than 20"),
    "deep brackets": ("models:\n  [" + "[" * 20_000, "models.yaml:2: not YAML: nested deeper than 20"),
    "deep lines": ("".join(" " * n + "a:\n" for n in range(200)), "nested deeper than 20"),
    "a python object": ("a: 1\nmodels: !!python/object/apply:os.system ['true']", "models.yaml:2: not YAML: tag:yaml"),
    "a python name": ("models: {a: !!python/name:os.system x}", "models.yaml:1: not YAML"),
    "a set": ("models: !!set {a}", "not allowed in a catalog"),
    "a bad date": ("models:\n  a: 2026-13-45", "models.yaml:2: models.a: '2026-13-45' looks like a timestamp"),
    "a list as key": ("models: {[a]: b}", "a key must be text"),
    "an entry of words": ("models: {a: b}", "models.a: must be a mapping"),
    "itself": ("models: &m {a: *m}", "an alias contains itself"),
    "itself merged": ("models: &m {<<: *m}", "an alias contains itself"),
    "merged words": ("models: {<<: words}", "<< needs a mapping"),
    "no anchor": ("models: *nothing", "undefined alias"),
    "a control character": ("models:\n  \x00", "models.yaml:2: not YAML"),
    "two documents": ("models: {}\n---\nmodels: {}", "models.yaml:2: not YAML: expected a single document"),
    "half a quote": ('models: {a: "b}', "not YAML: while scanning a quoted scalar"),
}


@pytest.mark.parametrize(("text", "words"), RUBBISH.values(), ids=RUBBISH)
def test_malformed_yaml_is_refused_with_its_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(CatalogError) as caught:
        load(write(tmp_path, text))
    assert words in str(caught.value)
    assert len(str(caught.value)) < 1000


def laughs(line: str) -> str:
    """Nine lines, each of nine of the one before: 9 ** 9 values, were they unfolded."""
    return "x0: &x0 {a: 1}\n" + "".join(
        f"x{n}: &x{n} " + line.format(", ".join([f"*x{n - 1}"] * 9)) + "\n" for n in range(1, 10)
    )


@pytest.mark.no_cover
@pytest.mark.parametrize("line", ["[{}]", "{{<<: [{}]}}"], ids=["lists", "merges"])
def test_aliases_that_unfold_into_billions_are_refused(tmp_path: Path, line: str) -> None:
    with pytest.raises(CatalogError, match=f"more than {MAX_VALUES} values"):
        read(write(tmp_path, laughs(line)))


def test_aliases_that_unfold_too_deep_are_refused(tmp_path: Path) -> None:
    text = "x0: &x0 [1]\n" + "".join(f"x{n}: &x{n} [[[*x{n - 1}]]]\n" for n in range(1, 10))
    with pytest.raises(CatalogError, match="nested deeper than 20, aliases expanded"):
        read(write(tmp_path, text))


def test_too_many_values_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_file, "MAX_VALUES", 1000)
    with pytest.raises(CatalogError, match="more than 1000 values"):
        read(write(tmp_path, "models: [" + "x," * 2010))
