"""The catalog loader: reads right entries, and refuses wrong ones with what is right."""

from __future__ import annotations

from pathlib import Path

import pytest

from apiserver.catalog import loader
from apiserver.catalog.loader import load, read
from apiserver.catalog.model_entry import ModelEntry
from apiserver.catalog.yaml_file import MAX_BYTES, MAX_ISSUES, CatalogError
from shared.languages import LanguagePair

DEMO = Path(__file__).resolve().parents[3] / "deploy" / "models" / "demo.yaml"


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


LANGUAGES = ["en", "de", "fr", "es", "it", "pt", "nl", "sv", "da", "fi", "pl", "cs", "ru", "tr", "ar", "ja", "ko", "zh"]
# 162 languages, and an entry that takes any.
MANY = [
    f"{language}-{region}"
    for language in LANGUAGES
    for region in ("AT", "BE", "CH", "DE", "ES", "FR", "GB", "IT", "US")
]
CUSTOM = "path: org/model\nprompt: {template: '{text}'}\n"
GOOD = "path: org/model\npairs: [en-de]\nprompt: demo-tags\n"


def test_demo_catalog_loads_with_absolute_folders() -> None:
    entries = load(DEMO)
    assert [entry.name for entry in entries] == ["en-de", "en-fr", "en-es"]
    for entry in entries:
        assert (Path(entry.path) / "config.json").is_file()
        assert Path(entry.path).is_absolute()


def test_relative_path_starts_at_the_catalog(tmp_path: Path) -> None:
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "config.json").write_text("{}")
    entry = one(tmp_path, "path: ./weights\npairs: [en-de]\nprompt: demo-tags")
    assert entry.path == str(tmp_path / "weights")


def test_hugging_face_name_is_kept(tmp_path: Path) -> None:
    assert one(tmp_path, GOOD).path == "org/model"


def test_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    message = refused(tmp_path, "path: ./nowhere\npairs: [en-de]\nprompt: demo-tags")
    assert "models.m.path" in message
    assert str(tmp_path / "nowhere") in message


def test_languages_span_every_pair_once(tmp_path: Path) -> None:
    entry = one(tmp_path, "path: org/model\npairs: [de-en]\nlanguages: [EN, de, fr]\nprompt: demo-tags")
    assert [str(pair) for pair in entry.all_pairs] == ["de-en", "en-de", "en-fr", "de-fr", "fr-en", "fr-de"]


def test_pair_with_a_compound_tag_is_written_as_a_list(tmp_path: Path) -> None:
    entry = one(tmp_path, "path: org/model\npairs: [[en, zh_hant], [pt-BR, en]]\nprompt: hy-mt2")
    assert entry.all_pairs == (LanguagePair("en", "zh-Hant"), LanguagePair("pt-BR", "en"))


def test_canary_of_a_compound_tag_is_that_of_its_language(tmp_path: Path) -> None:
    entry = one(tmp_path, "path: org/model\npairs: [[pt-BR, en]]\nprompt: demo-tags")
    assert entry.canary(entry.all_pairs[0]) == "Onde fica a estação?"


def test_canaries_of_the_entry_precede_built_in_ones(tmp_path: Path) -> None:
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
        ("path: org/model\npairs: [ende]\nprompt: demo-tags", ["models.m.pairs[0]", "en-de", "'ende'"]),
        ("path: org/model\npairs: [en-zh-Hant]\nprompt: demo-tags", ["models.m.pairs[0]", "[en, zh-Hant]"]),
        ("path: org/model\npairs: [[en, de, fr]]\nprompt: demo-tags", ["models.m.pairs[0]", "a pair is written"]),
        ("path: org/model\npairs: [en-de, en-en]\nprompt: demo-tags", ["models.m.pairs[1]", "two languages"]),
        ("path: org/model\npairs: [en-d!]\nprompt: demo-tags", ["models.m.pairs[0]", "'d!'", "BCP-47"]),
        ("path: org/model\nlanguages: [en, und]\nprompt: demo-tags", ["models.m.languages", "'und'"]),
        ("path: org/model\npairs: [[en, no]]\nprompt: demo-tags", ["models.m.pairs[0]", 'quotes: "no"']),
        ("path: org/model\nlanguages: [en, no]\nprompt: demo-tags", ["models.m.languages", 'quotes: "no"']),
        ("path: org/model\npairs: [en-de]\nprompt: demo-tag", ["models.m.prompt", "did you mean demo-tags?", "hy-mt2"]),
        ("path: org/model\npairs: [en-de]", ["models.m.prompt", "required"]),
        (GOOD + "pair: [en-fr]", ["models.m.pair:", "is not a key; did you mean pairs?"]),
        (GOOD + "zzz: 1", ["models.m.zzz: is not a key; the keys are path, pairs"]),
        ("path: org/model\npairs: [en-de, de-en, en-de]\nprompt: demo-tags", ["models.m.pairs[2]", "en-de", "twice"]),
        ("path: org/model\nlanguages: [en, de, EN]\nprompt: demo-tags", ["models.m.languages[2]", "en", "twice"]),
        ("path: 7\npairs: [en-de]\nprompt: demo-tags", ["models.m.path", "string", "got 7"]),
        (GOOD + "name: other", ["models.m.name"]),
        (GOOD + "1: x", ["models.m", "1", "quotes"]),
        ("path: org/model\npairs: [en-de]\nprompt: 7", ["models.m.prompt", "string"]),
        (GOOD + "sampling: {temprature: 0}", ["models.m.sampling.temprature", "did you mean temperature?"]),
        (GOOD + "sampling: {temperature: .nan}", ["models.m.sampling.temperature", "finite"]),
        (GOOD + "sampling: {temperature: true}", ["models.m.sampling.temperature", "number"]),
        (GOOD + "sampling: {top_k: 1.5}", ["models.m.sampling.top_k", "integer", "1.5"]),
        (GOOD + "sampling: {top_p: 0}", ["models.m.sampling.top_p", "greater than 0"]),
        (GOOD + "sampling: {stop_token_ids: [1, two]}", ["models.m.sampling.stop_token_ids[1]", "integer"]),
        (GOOD + "sampling: 3", ["models.m.sampling", "mapping"]),
        (GOOD + "segment: {token: 48}", ["models.m.segment.token", "did you mean tokens?"]),
        (GOOD + "segment: {tokens: 0}", ["models.m.segment.tokens", "greater than or equal to 1"]),
        (GOOD + "segment: {sentences: '1'}", ["models.m.segment.sentences", "integer"]),
        (GOOD + "sampling: {temperature: hot}", ["models.m.sampling.temperature", "number"]),
        (GOOD + "sampling: {temperature: -1}", ["models.m.sampling.temperature", "0"]),
        (GOOD + "engine: [a]", ["models.m.engine", "mapping", "['a']"]),
        (GOOD + "engine: {model: x}", ["engine.model", "path"]),
        (GOOD + "engine: {served_model_name: x}", ["engine.served_model_name", "name"]),
        (GOOD + "engine: {max_num_seqs: many}", ["engine.max_num_seqs", "whole number", "'many'"]),
        (GOOD + "engine: {max_num_seqs: 0}", ["engine.max_num_seqs", "whole number"]),
        (GOOD + "engine: {max_num_seqs: true}", ["engine.max_num_seqs", "whole number"]),
        (GOOD + "engine: {max_num_seqs: }", ["engine.max_num_seqs", "whole number"]),
        ("path: org/model\npairs: [en-qqq]\nprompt: qwen3", ["yaml:4: models.m.pairs[0]", "no language 'qqq'"]),
        ("path: org/model\npairs: [en-xyz]\nprompt: qwen3", ["yaml:4: models.m.pairs[0]", "no language 'xyz'"]),
        ("path: org/model\nlanguages: [en, de-XX-x]\nprompt: qwen3", ["models.m.languages[1]", "'de-XX-x'"]),
        ("path: org/model\nlanguages: [en, de-AB]\nprompt: qwen3", ["has de, but no such script or country"]),
        (GOOD + "canaries: {qqq: x}", ["models.m.canaries", "no language 'qqq'"]),
        ("path: org/model\npairs: [sw-en]\nprompt: demo-tags", ["no built-in canary text for sw; add canaries: {sw:"]),
        (GOOD + "canaries: {en: ' '}", ["models.m.canaries", "en", "blank"]),
        (GOOD + "canaries: {engl!sh: Hello}", ["models.m.canaries", "'engl!sh'"]),
        (GOOD + "canaries: {fr: Bonjour}", ["canaries", "fr", "does not translate from"]),
    ],
)
def test_wrong_entry_is_refused_with_what_is_right(tmp_path: Path, entry: str, words: list[str]) -> None:
    message = refused(tmp_path, entry)
    assert "models.yaml" in message
    for word in words:
        assert word in message


TYPES: dict[str, object] = {"max_num_seqs": int, "max_model_len": int, "enforce_eager": bool, "revision": str | None}


def refused_with_types(folder: Path, entry: str) -> list[str]:
    lines = "\n".join(f"    {line}" for line in entry.strip().splitlines())
    path = write(folder, f"models:\n  m:\n{lines}\n")
    with pytest.raises(CatalogError) as caught:
        read(path, argument_types=TYPES)
    return str(caught.value).splitlines()


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        ("engine: {max_modellen: 5}", ["yaml:6: models.m.engine.max_modellen", "did you mean max_model_len?"]),
        ("engine:\n  max_num_seqs: 1\n  max_model_len: abc", ["yaml:8: models.m.engine.max_model_len", "got 'abc'"]),
        ("engine: {enforce_eager: 1}", ["models.m.engine.enforce_eager: must be true or false; got 1"]),
        ("engine: {revision: 1234567}", ["models.m.engine.revision: must be text; got 1234567; put it in quotes"]),
    ],
)
def test_wrong_engine_argument_is_refused_where_types_are_known(tmp_path: Path, engine: str, words: list[str]) -> None:
    (message,) = refused_with_types(tmp_path, GOOD + engine)
    for word in words:
        assert word in message


def test_engine_argument_is_left_to_the_engine_without_types(tmp_path: Path) -> None:
    assert one(tmp_path, GOOD + "engine: {max_modellen: 5}").engine == {"max_modellen": 5}


def test_wrong_engine_argument_is_named_once_beside_others(tmp_path: Path) -> None:
    lines = refused_with_types(
        tmp_path, "pairs: [en-de]\nprompt: demo-tags\nengine: {max_num_seqs: many, max_modellen: 5}"
    )
    assert [line.split(": ")[1] for line in lines] == [
        "models.m.path",
        "models.m.engine.max_num_seqs",
        "models.m.engine.max_modellen",
    ]
    lines = refused_with_types(tmp_path, GOOD + "engine: {max_num_seqs: many, model: 3}")
    assert [line.split(": ")[1] for line in lines] == ["models.m.engine.model", "models.m.engine.max_num_seqs"]


@pytest.mark.parametrize("name", ["-x", "a b", "ä", "a/b", "x" * 65, ""])
def test_model_name_that_is_no_label_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(CatalogError, match="name"):
        load(write(tmp_path, f"models:\n  {name!r}:\n    path: a/b\n    pairs: [en-de]\n    prompt: demo-tags\n"))


TWO = """
models:
  a: {path: org/a, pairs: [en-de, de-en], prompt: demo-tags}
  b: {path: org/b, pairs: [en-fr], prompt: demo-tags}
  c: {path: org/c, pairs: [de-en], prompt: demo-tags}
"""


def test_models_of_one_pair_keep_the_order_of_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, TWO)
    assert [entry.name for entry in load(path)] == ["a", "b", "c"]
    assert [entry.name for entry in load(path, ["c", "a"])] == ["a", "c"]


def test_ranks_count_all_models_of_the_file(tmp_path: Path) -> None:
    catalog = read(write(tmp_path, TWO), ["c", "a"])
    assert [model.name for model in catalog.hosted] == ["a", "c"]
    ranks = [{str(pair): rank for pair, rank in catalog.ranks(model).items()} for model in catalog.models]
    assert ranks == [{"en-de": 0, "de-en": 0}, {"en-fr": 0}, {"de-en": 1}]
    alone = read(write(tmp_path, TWO), ["c"])
    assert alone.ranks(alone.hosted[0]) == {LanguagePair("de", "en"): 1}


def test_model_named_twice_is_hosted_once(tmp_path: Path) -> None:
    assert [entry.name for entry in load(write(tmp_path, TWO), ["b", "b"])] == ["b"]


def test_unknown_model_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match=r"models.yaml: has no model x, y; it has a, b, c"):
        load(write(tmp_path, TWO), ["a", "x", "y"])


def test_model_written_twice_is_refused(tmp_path: Path) -> None:
    entry = "{path: org/a, pairs: [en-de], prompt: demo-tags}"
    with pytest.raises(CatalogError, match=r"models.yaml:3: models: 'a' is written twice, first in line 2"):
        load(write(tmp_path, f"models:\n  a: {entry}\n  a: {entry}\n"))


def test_binary_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "models.yaml"
    path.write_bytes(b"\xff\xfe\x00models")
    with pytest.raises(CatalogError, match=r"cannot be read"):
        load(path)


@pytest.mark.parametrize("name", ["missing.yaml", "."])
def test_missing_file_is_refused_with_its_setting(tmp_path: Path, name: str) -> None:
    with pytest.raises(CatalogError, match="APISERVER_CATALOG"):
        load(tmp_path / name)


def test_huge_file_is_refused_unread(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="larger than"):
        load(write(tmp_path, "#" * (MAX_BYTES + 1)))


def test_all_issues_are_listed_with_their_lines(tmp_path: Path) -> None:
    text = """\
models:
  a:
    path: ./nowhere
    pairs: [en-de]
    prompt: demo-tags
  b:
    path: org/b
    pairs:
      - en-de
      - en-de
      - en-d!
    promt: demo-tags
    sampling:
      temperature: hot
  c: 3
"""
    with pytest.raises(CatalogError) as caught:
        load(write(tmp_path, text), ["x", "a"])
    heads = [line.split(": ")[:2] for line in str(caught.value).replace(f"{tmp_path}/", "").splitlines()]
    assert heads == [
        ["models.yaml", "has no model x; it has a, b, c"],
        ["models.yaml:3", "models.a.path"],
        ["models.yaml:6", "models.b.prompt"],
        ["models.yaml:11", "models.b.pairs[2]"],
        ["models.yaml:12", "models.b.promt"],
        ["models.yaml:14", "models.b.sampling.temperature"],
        ["models.yaml:15", "models.c"],
    ]


def test_folder_of_a_model_not_hosted_may_be_missing(tmp_path: Path) -> None:
    text = "models:\n  a: {path: ./nowhere, pairs: [en-de], prompt: demo-tags}\n  b: {path: o/b, pairs: [en-de], prompt: qwen3}"
    assert [entry.name for entry in load(write(tmp_path, text), ["b"])] == ["b"]


def test_issues_beyond_the_limit_are_counted(tmp_path: Path) -> None:
    with pytest.raises(CatalogError) as caught:
        load(write(tmp_path, "models:\n" + "".join(f"  m{n}: 3\n" for n in range(MAX_ISSUES + 5))))
    lines = str(caught.value).splitlines()
    assert len(lines) == MAX_ISSUES + 1
    assert lines[-1].endswith("and 5 more")


def test_long_value_in_a_message_is_cut_short(tmp_path: Path) -> None:
    assert len(refused(tmp_path, GOOD + f"sampling: {{temperature: {'x' * 5000}}}")) < 400


@pytest.mark.parametrize("folder", ["./\\0", "./" + "x" * 5000, "./\\ud800", "."])
def test_impossible_path_is_refused(tmp_path: Path, folder: str) -> None:
    assert "models.yaml:3: models.m.path" in refused(tmp_path, f'path: "{folder}"\npairs: [en-de]\nprompt: demo-tags')


def test_pairs_beyond_what_proxies_take_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loader, "MAX_REPORTED_PAIRS", 200)
    half = 100
    pairs = [f"[{a}, {b}]" for a in MANY for b in MANY if a != b]
    first, second = ", ".join(pairs[:half]), ", ".join(pairs[half : 2 * half + 1])
    text = "models:\n" + "".join(
        f"  {name}:\n    path: org/model\n    prompt: {{template: '{{text}}'}}\n    pairs: [{written}]\n"
        for name, written in (("a", first), ("b", second))
    )
    path = write(tmp_path, text)
    assert [len(entry.all_pairs) for entry in load(path, ["a"])] == [half]
    with pytest.raises(CatalogError, match=r"201 language pairs.*APISERVER_MODELS"):
        load(path)


def test_languages_beyond_what_proxies_take_are_refused(tmp_path: Path) -> None:
    assert "at most 141 items" in refused(tmp_path, f"{CUSTOM}languages: [{', '.join(MANY[:142])}]")
    assert len(one(tmp_path, f"{CUSTOM}languages: [{', '.join(MANY[:141])}]").all_pairs) == 141 * 140
