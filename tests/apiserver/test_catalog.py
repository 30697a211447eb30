"""The catalog: what is right is read, and every wrong entry is refused by name with what would be right."""

from __future__ import annotations

from pathlib import Path

import pytest

from apiserver.catalog import MAX_CATALOG_BYTES, CatalogError, ModelEntry, load
from shared.languages import LanguagePair

DEMO = Path(__file__).resolve().parents[2] / "deploy" / "models" / "demo.yaml"


def write(folder: Path, text: str) -> Path:
    path = folder / "models.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def one(folder: Path, entry: str) -> ModelEntry:
    lines = "\n".join(f"    {line}" for line in entry.strip().splitlines())
    return load(write(folder, f"models:\n  m:\n{lines}\n"))[0]


def refused(folder: Path, entry: str) -> str:
    with pytest.raises(CatalogError) as caught:
        one(folder, entry)
    return str(caught.value)


GOOD = "path: org/model\npairs: [en-de]\nprompt: demo-tags\n"


def test_the_demo_catalog_is_good_and_its_folders_are_absolute() -> None:
    entries = load(DEMO)
    assert [entry.name for entry in entries] == ["en-de", "en-fr"]
    for entry in entries:
        assert (Path(entry.path) / "config.json").is_file()
        assert Path(entry.path).is_absolute()


def test_a_relative_path_is_relative_to_the_catalog_not_to_the_working_directory(tmp_path: Path) -> None:
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "config.json").write_text("{}")
    entry = one(tmp_path, "path: ./weights\npairs: [en-de]\nprompt: demo-tags")
    assert entry.path == str(tmp_path / "weights")


def test_a_hugging_face_name_stays_as_it_is(tmp_path: Path) -> None:
    assert one(tmp_path, GOOD).path == "org/model"


def test_a_folder_without_a_model_is_refused_and_named(tmp_path: Path) -> None:
    message = refused(tmp_path, "path: ./nowhere\npairs: [en-de]\nprompt: demo-tags")
    assert "models.m.path" in message
    assert str(tmp_path / "nowhere") in message


def test_languages_span_every_ordered_pair_and_pairs_are_not_doubled(tmp_path: Path) -> None:
    entry = one(tmp_path, "path: org/model\npairs: [de-en]\nlanguages: [EN, de, fr]\nprompt: demo-tags")
    assert [str(pair) for pair in entry.all_pairs] == ["de-en", "en-de", "en-fr", "de-fr", "fr-en", "fr-de"]


def test_a_tag_with_parts_of_its_own_is_written_as_a_list(tmp_path: Path) -> None:
    entry = one(tmp_path, "path: org/model\npairs: [[en, zh_hant], [pt-BR, en]]\nprompt: hy-mt2")
    assert entry.all_pairs == (LanguagePair("en", "zh-Hant"), LanguagePair("pt-BR", "en"))


def test_a_canary_is_found_for_a_tag_with_parts_through_its_language(tmp_path: Path) -> None:
    entry = one(tmp_path, "path: org/model\npairs: [[pt-BR, en]]\nprompt: demo-tags")
    assert entry.canary(entry.all_pairs[0]) == "Onde fica a estação?"


def test_canaries_of_the_entry_count_before_those_built_in_whatever_their_case(tmp_path: Path) -> None:
    entry = one(tmp_path, GOOD + "canaries: {EN: Good morning.}")
    assert entry.canary(entry.all_pairs[0]) == "Good morning."


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("pairs: [en-de]\nprompt: demo-tags", ["models.m.path", "required"]),
        ("path: ''\npairs: [en-de]\nprompt: demo-tags", ["models.m.path"]),
        ("path: org/model\nprompt: demo-tags", ["pairs", "languages", "at least two"]),
        ("path: org/model\nlanguages: [en]\nprompt: demo-tags", ["at least two"]),
        ("path: org/model\npairs: []\nprompt: demo-tags", ["at least two"]),
        ("path: org/model\npairs: en-de\nprompt: demo-tags", ["models.m.pairs", "list"]),
        ("path: org/model\nlanguages: en\nprompt: demo-tags", ["models.m.languages", "list"]),
        ("path: org/model\npairs: [ende]\nprompt: demo-tags", ["models.m.pairs.0", "en-de", "'ende'"]),
        ("path: org/model\npairs: [en-zh-Hant]\nprompt: demo-tags", ["models.m.pairs.0", "[en, zh-Hant]"]),
        ("path: org/model\npairs: [[en, de, fr]]\nprompt: demo-tags", ["models.m.pairs.0", "a pair is written"]),
        ("path: org/model\npairs: [en-de, en-en]\nprompt: demo-tags", ["models.m.pairs.1", "two languages"]),
        ("path: org/model\npairs: [en-d!]\nprompt: demo-tags", ["models.m.pairs.0", "'d!'", "BCP-47"]),
        ("path: org/model\nlanguages: [en, und]\nprompt: demo-tags", ["models.m.languages", "'und'"]),
        ("path: org/model\npairs: [[en, no]]\nprompt: demo-tags", ["models.m.pairs.0", 'quotes: "no"']),
        ("path: org/model\nlanguages: [en, no]\nprompt: demo-tags", ["models.m.languages", 'quotes: "no"']),
        ("path: org/model\npairs: [en-de]\nprompt: demo-tag", ["models.m.prompt", "demo-tags", "hy-mt2"]),
        ("path: org/model\npairs: [en-de]", ["models.m.prompt", "required"]),
        (GOOD + "pair: [en-fr]", ["models.m.pair"]),
        (GOOD + "name: other", ["models.m.name"]),
        (GOOD + "1: x", ["models.m", "1"]),
        (GOOD + "sampling: {temprature: 0}", ["models.m.sampling.temprature"]),
        (GOOD + "sampling: {temperature: hot}", ["models.m.sampling.temperature", "number"]),
        (GOOD + "sampling: {temperature: -1}", ["models.m.sampling.temperature", "0"]),
        (GOOD + "engine: [a]", ["models.m.engine", "dictionary"]),
        (GOOD + "engine: {model: x}", ["engine.model", "path"]),
        (GOOD + "engine: {served_model_name: x}", ["engine.served_model_name", "name"]),
        (GOOD + "engine: {max_num_seqs: many}", ["engine.max_num_seqs", "whole number", "'many'"]),
        (GOOD + "engine: {max_num_seqs: 0}", ["engine.max_num_seqs", "whole number"]),
        (GOOD + "engine: {max_num_seqs: true}", ["engine.max_num_seqs", "whole number"]),
        (GOOD + "engine: {max_num_seqs: }", ["engine.max_num_seqs", "whole number"]),
        ("path: org/model\npairs: [sw-en]\nprompt: demo-tags", ["no canary", "sw", "canaries: {sw:"]),
        (GOOD + "canaries: {en: ' '}", ["models.m.canaries", "en", "blank"]),
        (GOOD + "canaries: {engl!sh: Hello}", ["models.m.canaries", "'engl!sh'"]),
        (GOOD + "canaries: {fr: Bonjour}", ["canaries", "fr", "translates from"]),
    ],
)
def test_a_wrong_entry_is_refused_by_name_with_what_would_be_right(
    tmp_path: Path, entry: str, words: list[str]
) -> None:
    message = refused(tmp_path, entry)
    assert "models.yaml" in message
    for word in words:
        assert word in message


@pytest.mark.parametrize("name", ["-x", "a b", "ä", "a/b", "x" * 65, ""])
def test_a_model_name_that_is_no_label_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(CatalogError, match="name"):
        load(write(tmp_path, f"models:\n  {name!r}:\n    path: a/b\n    pairs: [en-de]\n    prompt: demo-tags\n"))


TWO = """
models:
  a: {path: org/a, pairs: [en-de, de-en], prompt: demo-tags}
  b: {path: org/b, pairs: [en-fr], prompt: demo-tags}
  c: {path: org/c, pairs: [de-en], prompt: demo-tags}
"""


def test_a_pair_that_two_hosted_models_serve_is_refused_naming_both(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match=r"de-en is served by a and by c.*APISERVER_MODELS"):
        load(write(tmp_path, TWO))


def test_two_models_may_serve_a_pair_where_only_one_of_them_is_hosted(tmp_path: Path) -> None:
    path = write(tmp_path, TWO)
    assert [entry.name for entry in load(path, ["c", "b"])] == ["c", "b"]


def test_a_model_named_twice_is_hosted_once(tmp_path: Path) -> None:
    assert [entry.name for entry in load(write(tmp_path, TWO), ["b", "b"])] == ["b"]


def test_unknown_names_are_refused_with_those_that_exist(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match=r"no model x, y; it has a, b, c"):
        load(write(tmp_path, TWO), ["a", "x", "y"])


def test_a_model_written_twice_is_refused_instead_of_losing_the_first(tmp_path: Path) -> None:
    entry = "{path: org/a, pairs: [en-de], prompt: demo-tags}"
    with pytest.raises(CatalogError, match=r"'a'.*twice"):
        load(write(tmp_path, f"models:\n  a: {entry}\n  a: {entry}\n"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "models:",
        "models: []",
        "models: {}",
        "[]",
        "just words",
        "models: {a: {}}\nmodel: {}",
        "models:\n\t- x",
        "{" * 20_000,
        "models: !!python/object/apply:os.system ['true']",
        "models: {a: 2026-13-45}",
        "models: {[a]: b}",
        "models: {a: b}",
        "models: &m {a: *m}",
        "\x00",
        "models: *nothing",
    ],
    ids=range(16),
)
def test_rubbish_is_refused_in_words(tmp_path: Path, text: str) -> None:
    with pytest.raises(CatalogError) as caught:
        load(write(tmp_path, text))
    assert "models.yaml" in str(caught.value)
    assert len(str(caught.value)) < 1000


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "models.yaml"
    path.write_bytes(b"\xff\xfe\x00models")
    with pytest.raises(CatalogError, match=r"can not be read"):
        load(path)


@pytest.mark.parametrize("name", ["missing.yaml", "."])
def test_a_file_that_is_not_there_is_refused_naming_the_setting(tmp_path: Path, name: str) -> None:
    with pytest.raises(CatalogError, match="APISERVER_CATALOG"):
        load(tmp_path / name)


def test_a_huge_file_is_refused_unread(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="larger than"):
        load(write(tmp_path, "#" * (MAX_CATALOG_BYTES + 1)))
