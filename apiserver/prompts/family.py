"""Prompt families: prompts of one kind of models, rendered for one pair.

Instruction and text share a piece, because tokenizers put a space before each. The text is never searched
(docs/decisions/0006-prompt-families.md).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from apiserver.prompts.pair_prompt import (
    CONTEXT,
    DELIMITER,
    TERM,
    TERMS,
    TEXT,
    TRANSLATION,
    ControlToken,
    MessagePart,
    PairPrompt,
    PromptError,
    cut,
    sentinels_in,
    with_slots,
)
from apiserver.prompts.sampling import Sampling
from shared.languages import LanguagePair, display_name, has_region, language_name, language_of, stand_in

# Renders messages (``role``, ``content``) with the chat template's keyword arguments, generation prompt included.
ChatTemplate = Callable[[Sequence[Mapping[str, str]], Mapping[str, object]], str]

# For system messages and control tokens.
PAIR_SLOTS: Final = frozenset({"source", "target", "source_code", "target_code"})
# ``text`` must occur once; ``terms`` and ``context`` too, only in a message for them.
MESSAGE_SLOTS: Final = PAIR_SLOTS | {"text", "terms", "context", "delimiter"}
TERM_SLOTS: Final = frozenset({"term", "translation"})


@dataclass(frozen=True, slots=True)
class PlaceholderStyle:
    """Form of placeholders in a prompt: tags numbered by ``{n}``.

    Without ``name`` or ``quantity``, ``alone`` spells those. A segment may have ``most`` of all kinds (a pair of tags is
    one); None: any number.
    """

    open: str
    close: str
    alone: str
    name: str | None = None
    quantity: str | None = None
    most: int | None = None


COMMON_NAMES: Final = {("en", "bn"): "Bengali"}  # all cards agree on these, but not with CLDR

# XLIFF's tags, which models know from translations of software.
TAGS: Final = PlaceholderStyle(open="<g{n}>", close="</g{n}>", alone="<x{n}/>")


@dataclass(frozen=True, slots=True)
class MessageTemplate:
    """A message with slots, a line for each term, names unlike CLDR's."""

    message: str
    language: str = "en"
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    term_line: str = ""


@dataclass(frozen=True, slots=True)
class PromptFamily:
    """One family of models: its prompts and languages.

    With ``chat``, ``message`` is the user's message in the chat template (with ``system`` and ``arguments``); otherwise
    it is the whole prompt, with the control tokens ``tokens``. ``chinese`` replaces it if either language is Chinese,
    ``terms`` and ``chinese_terms`` if terms are given, ``context`` and ``chinese_context`` if a context is,
    ``context_terms`` if both are. ``begin``: the tokenizer's beginning tokens precede it.
    ``copies_literals``: placeholders may be written literally. ``languages`` None means any; one of a pair must be
    ``via``, if set; a model knows ``via`` and one of the ``groups``. ``regional``: language names include the country.
    """

    name: str
    message: MessageTemplate
    chat: bool
    system: str | None = None
    arguments: Mapping[str, object] = field(default_factory=dict[str, object])
    chinese: MessageTemplate | None = None
    terms: MessageTemplate | None = None
    chinese_terms: MessageTemplate | None = None
    context: MessageTemplate | None = None
    chinese_context: MessageTemplate | None = None
    context_terms: MessageTemplate | None = None
    tokens: tuple[str, ...] = ()
    begin: bool = False
    stop: tuple[str, ...] = ()
    sampling: Sampling = field(default_factory=Sampling)
    placeholder_style: PlaceholderStyle = TAGS
    copies_literals: bool = True
    languages: tuple[str, ...] | None = None
    via: str | None = None
    groups: tuple[tuple[str, ...], ...] = ()
    regional: bool = False

    def unknown(self, tag: str) -> str | None:
        """Return an error message if the language is unknown."""
        if self.languages is None or stand_in(tag, self.languages) is not None:
            return None
        return f"prompt {self.name} does not know {tag}; it knows {', '.join(sorted(self.languages))}"

    def refusal(self, pair: LanguagePair) -> str | None:
        """Return an error message if it cannot serve the pair."""
        if (why := self.unknown(pair.source) or self.unknown(pair.target)) is not None:
            return why
        if self.via is not None and self.via not in {self._known(pair.source), self._known(pair.target)}:
            return f"prompt {self.name} translates only from and into {self.via}, so not {pair}"
        return None

    def mixture(self, pairs: Sequence[LanguagePair]) -> str | None:
        """Return an error message if no single model knows all the languages."""
        seen: dict[int, str] = {}
        for tag in dict.fromkeys(tag for pair in pairs for tag in (pair.source, pair.target)):
            for number, group in enumerate(self.groups, 1):
                if self._known(tag) in group:
                    seen.setdefault(number, tag)
        if len(seen) < 2:
            return None
        groups = ", ".join(f"{tag} is in group {number}" for number, tag in sorted(seen.items()))
        return f"a model of {self.name} knows the languages of one group and {self.via}: {groups}"

    def for_pair(self, pair: LanguagePair, template: ChatTemplate, controls: Collection[str]) -> PairPrompt:
        """Render a pair's prompt, or raise PromptError; ``controls`` are the tokenizer's."""
        if (why := self.refusal(pair)) is not None:
            raise PromptError(why)
        slots = self._pair_slots(pair, self.message)
        for token in (with_slots(token, slots) for token in self.tokens):
            if token not in controls:
                raise PromptError(f"prompt {self.name} needs {token}, which the model's tokenizer lacks")
        message, terms, context = self.message, self.terms, self.context
        if "zh" in map(language_of, pair):
            message, terms = self.chinese or message, self.chinese_terms or terms
            context = self.chinese_context or context

        def parts(chosen: MessageTemplate | None) -> tuple[MessagePart, ...] | None:
            return None if chosen is None else self._parts(pair, chosen, template, controls)

        return PairPrompt(
            self._parts(pair, message, template, controls),
            parts(terms),
            () if terms is None else cut(with_slots(terms.term_line, {"term": TERM, "translation": TRANSLATION})),
            parts(context),
            parts(self.context_terms),
        )

    def _parts(
        self, pair: LanguagePair, message_template: MessageTemplate, template: ChatTemplate, controls: Collection[str]
    ) -> tuple[MessagePart, ...]:
        slots = self._pair_slots(pair, message_template)
        inner = {"text": TEXT, "terms": TERMS, "context": CONTEXT, "delimiter": DELIMITER}
        message = whole = with_slots(message_template.message, {**slots, **inner})
        if self.chat:
            messages = [{"role": "user", "content": message}]
            if self.system is not None:
                messages.insert(0, {"role": "system", "content": with_slots(self.system, slots)})
            try:
                whole = template(messages, self.arguments)
            except Exception as error:  # the template is a program of the model
                raise PromptError(
                    f"the model's chat template cannot render prompt {self.name}: {type(error).__name__}: {error}"
                ) from error
        expected, rendered = sentinels_in(message), sentinels_in(whole)
        if expected != rendered or expected[TEXT] != 1:
            raise PromptError(
                f"the model's chat template renders the text of prompt {self.name} {rendered[TEXT]} times; "
                "it must render it once, unchanged"
            )
        return tuple(
            ControlToken(part) if is_control else cut(part) for part, is_control in _split_at_controls(whole, controls)
        )

    def _known(self, tag: str) -> str:
        return tag if self.languages is None else stand_in(tag, self.languages) or tag

    def _pair_slots(self, pair: LanguagePair, message_template: MessageTemplate) -> dict[str, str]:
        return {
            "source": self._name(pair.source, message_template),
            "target": self._name(pair.target, message_template),
            "source_code": self._known(pair.source),
            "target_code": self._known(pair.target),
        }

    def _name(self, tag: str, message_template: MessageTemplate) -> str:
        known, names, language = self._known(tag), message_template.names, message_template.language
        if tag in names:
            return names[tag]
        if self.regional and has_region(tag):
            return display_name(tag, language)
        if (name := names.get(known) or COMMON_NAMES.get((language, known))) is not None:
            return name
        return (display_name if self.regional else language_name)(known, language)


def _split_at_controls(rendered: str, controls: Collection[str]) -> list[tuple[str, bool]]:
    present = [token for token in controls if token and token in rendered and not sentinels_in(token)]
    if not present:
        return [(rendered, False)]
    pattern = "|".join(re.escape(token) for token in sorted(present, key=len, reverse=True))
    parts = re.split(f"({pattern})", rendered)
    return [(part, index % 2 == 1) for index, part in enumerate(parts) if part]
