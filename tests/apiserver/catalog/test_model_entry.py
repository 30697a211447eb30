"""Model entries: a prompt family or a template, its languages and sampling."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import indent

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from apiserver.catalog.loader import load
from apiserver.catalog.model_entry import MaskKind, ModelEntry
from apiserver.catalog.yaml_file import CatalogError
from apiserver.prompts.builtin_prompts import FAMILIES
from apiserver.prompts.family import TAGS
from apiserver.prompts.pair_prompt import ControlToken, TextPiece
from apiserver.prompts.sampling import Sampling
from shared.languages import LanguagePair, canonical_tag

DEMO = Path(__file__).resolve().parents[3] / "deploy" / "models" / "demo.yaml"


def one(folder: Path, entry: str) -> ModelEntry:
    path = folder / "models.yaml"
    path.write_text(f"models:\n  m:\n{indent(entry, '    ')}\n", encoding="utf-8")
    return load(path)[0]


def refused(folder: Path, entry: str) -> str:
    with pytest.raises(CatalogError) as caught:
        one(folder, entry)
    return str(caught.value)


GOOD = "path: org/model\npairs: [en-de]\nprompt: "


def template(messages: Sequence[Mapping[str, str]], _: Mapping[str, object]) -> str:
    return "<s>" + "".join(f"[{turn['role']}]{turn['content']}" for turn in messages) + "<sep>"


def test_demo_models_have_segments_of_one_sentence() -> None:
    for entry in load(DEMO):
        assert entry.family is FAMILIES["demo-tags"]
        assert (entry.segment.tokens, entry.segment.sentences) == (48, 1)
        assert entry.engine["scheduling_policy"] == "priority"
        assert entry.effective_sampling == Sampling()


def test_segment_limits_default_to_the_context(tmp_path: Path) -> None:
    segment = one(tmp_path, GOOD + "qwen3").segment
    assert (segment.tokens, segment.sentences) == (None, None)


def test_masks_are_off_by_default(tmp_path: Path) -> None:
    assert one(tmp_path, GOOD + "qwen3").masks == ()
    assert one(tmp_path, GOOD + "qwen3\nmasks: [names, numbers]").masks == (MaskKind.NAMES, MaskKind.NUMBERS)


@pytest.mark.parametrize(
    ("masks", "why"),
    [
        ("true", "models.m.masks: must be a list; got True"),
        ("[names, names]", "models.m.masks[1]: names is written twice"),
        ("[codes]", "models.m.masks[0]: must be 'names' or 'numbers'; got 'codes'"),
    ],
)
def test_wrong_masks_are_refused(tmp_path: Path, masks: str, why: str) -> None:
    assert why in refused(tmp_path, GOOD + f"qwen3\nmasks: {masks}")


@pytest.mark.parametrize("name", [name for name, family in FAMILIES.items() if family.languages])
def test_every_language_of_a_family_is_accepted(tmp_path: Path, name: str) -> None:
    family = FAMILIES[name]
    languages = [tag for tag in family.languages or () if tag != (family.via or "en")]
    for group in family.groups or (tuple(languages),):
        pairs = [[tag, family.via or "en"] for tag in languages if tag in group]
        canaries = {tag: "x" for tag, _ in pairs}
        entry = yaml.safe_dump({"path": "org/m", "prompt": name, "pairs": pairs, "canaries": canaries})
        assert [pair.source for pair in one(tmp_path, entry).pairs] == [canonical_tag(tag) for tag, _ in pairs]


@pytest.mark.parametrize("name", FAMILIES)
def test_family_is_chosen_by_its_name(tmp_path: Path, name: str) -> None:
    assert one(tmp_path, GOOD + name).family is FAMILIES[name]


def test_sampling_defaults_to_that_of_the_family(tmp_path: Path) -> None:
    entry = one(tmp_path, GOOD + "hy-mt2\nsampling: {temperature: 0, seed: 7}")
    assert entry.effective_sampling == Sampling(temperature=0, top_p=0.6, top_k=20, repetition_penalty=1.05, seed=7)
    assert one(tmp_path, GOOD + "hy-mt2").effective_sampling == FAMILIES["hy-mt2"].sampling


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (
            "prompt: tower-instruct\npairs: [en-de, en-sw]\ncanaries: {sw: x}",
            ["m.pairs[1]", "does not know sw", "de, en"],
        ),
        ("prompt: alma\npairs: [en-de, de-cs]", ["models.m.pairs[1]", "only from and into en, so not de-cs"]),
        ("prompt: alma\nlanguages: [en, de, cs]", ["models.m.languages:", "so not de-cs", "write the directions"]),
        ("prompt: seed-x\nlanguages: [en, de, el]", ["models.m.languages[2]", "does not know el; it knows ar, cs"]),
        ("prompt: x-alma\npairs: [en-de, fr-en]", ["models.m.pairs:", "de is in group 1, fr is in group 4"]),
        ("prompt: gemmax2\npairs: [[en, zh-Hant]]", ["models.m.pairs[0]", "gemmax2 does not know zh-Hant"]),
    ],
)
def test_languages_unknown_to_the_family_are_refused(tmp_path: Path, entry: str, words: list[str]) -> None:
    message = refused(tmp_path, f"path: org/model\n{entry}")
    for word in words:
        assert word in message


CUSTOM = """
  template: "{source}>{target} ({source_code}>{target_code}): {text}"
  system: Into {target}.
  names: {DE: Deutsch}
  stop: ["<sep>"]
  term_template: "{terms}|{text}"
  term_line: "{term} ist {translation}"
"""


def test_custom_template_works_like_a_family(tmp_path: Path) -> None:
    family = one(tmp_path, GOOD + CUSTOM).family
    prompt = family.for_pair(LanguagePair("en", "de"), template, ["<s>", "<sep>"])
    frame = TextPiece("[system]Into Deutsch.[user]English>Deutsch (en>de): <s>{text}")
    assert prompt.pieces("<s>{text}") == (ControlToken("<s>"), frame, ControlToken("<sep>"))
    expected = TextPiece("[system]Into Deutsch.[user]Uhr ist clock\nArm ist arm|x")
    assert prompt.pieces("x", {"Uhr": "clock", "Arm": "arm"})[1] == expected
    assert family.stop == ("<sep>",)
    assert family.terms is not None
    assert family.copies_literals
    assert family.placeholder_style == TAGS
    assert not family.begin


def test_template_without_chat_is_the_whole_prompt(tmp_path: Path) -> None:
    family = one(tmp_path, GOOD + '{template: "<s>{{{text}}}<sep>", chat: false, begin: true}').family
    pieces = family.for_pair(LanguagePair("en", "de"), template, ["<s>", "<sep>"]).pieces("x")
    assert pieces == (ControlToken("<s>"), TextPiece("{x}"), ControlToken("<sep>"))
    assert family.begin
    assert family.terms is None


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        ("{}", ["models.m.prompt.template: is required"]),
        ("{template: no slot}", ["models.m.prompt.template", "{text} must occur once; it occurs 0 times"]),
        ("{template: '{text} {text}'}", ["models.m.prompt.template", "it occurs 2 times"]),
        ("{template: '{text} {txt}'}", ["models.m.prompt.template", "{txt} is not a slot here", "{source}, "]),
        ("{template: '{text} {terms}'}", ["models.m.prompt.template", "{terms} is not a slot here"]),
        ("{template: '{text'}", ["models.m.prompt.template", "for braces that are not slots"]),
        ('{template: "{text} \\ue000"}', ["models.m.prompt.template", "private-use"]),
        ("{template: '{text}', term_template: '{text}'}", ["models.m.prompt.term_template", "{terms} must occur"]),
        ("{template: '{text}', term_line: '{term}={translation}'}", ["models.m.prompt", "needs a term_template"]),
        (
            "{template: '{text}', term_template: '{terms}{text}', term_line: '{term}'}",
            ["models.m.prompt.term_line", "{translation} must occur once"],
        ),
        ("{template: '{text}', system: '{text}'}", ["models.m.prompt.system", "{text} is not a slot here"]),
        ("{template: '{text}', system: x, chat: false}", ["models.m.prompt", "system needs chat: true"]),
        ("{template: '{text}', chat: 1}", ["models.m.prompt.chat", "boolean"]),
        ("{template: '{text}', names: {d!: x}}", ["models.m.prompt.names", "'d!'"]),
        ("{template: '{text}', names: {de: ' '}}", ["models.m.prompt.names", "de is blank"]),
        ("{template: '{text}', stops: [x]}", ["models.m.prompt.stops: is not a key; did you mean stop?"]),
        ("{template: '{text}', stop: x}", ["models.m.prompt.stop", "must be a list"]),
        ("[demo-tags]", ["models.m.prompt", "string"]),
    ],
)
def test_wrong_template_is_refused_with_what_is_right(tmp_path: Path, prompt: str, words: list[str]) -> None:
    message = refused(tmp_path, GOOD + prompt)
    assert "models.yaml:5: " in message
    for word in words:
        assert word in message


KEYS = [*ModelEntry.model_fields, "template", "temperature", "tokens", "max_num_seqs", "no", "<<", "x"]
SCALARS = ["en-de", "en", "demo-tags", "x-alma", "./x", "./\0", "\ud800", "{text}", None, True, -1, 1.5, float("nan")]
VALUES = st.recursive(
    st.sampled_from(SCALARS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=8))
def test_any_entry_is_read_or_refused_with_a_message(entry: dict[str, object]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "models.yaml"
        path.write_text(yaml.safe_dump({"models": {"m": entry}}, allow_unicode=False))
        try:
            said = f"models.{load(path)[0].name}"
        except CatalogError as error:
            said = str(error)
    assert "models.m" in said
