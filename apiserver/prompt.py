"""Model families' prompts, as token pieces: what a model must be told around the text, never mixed with it.

A prompt is rendered to what stands before the text and what stands behind it. Both are written by us and may hold
control tokens; the text itself is tokenised apart with control tokens split, so nothing in it can become one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from langcodes import Language

from shared.languages import LanguagePair

# Stands for the text while a chat template is rendered; a private-use character that no template holds.
_TEXT: Final = "\ue000"

# Renders one user message with the model's own chat template, generation prompt included.
ChatTemplate = Callable[[str], str]


class PromptError(ValueError):
    """The family's prompt can not be rendered for this model or pair."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """What stands before and behind the text; both may hold control tokens."""

    before: str
    behind: str


@dataclass(frozen=True, slots=True)
class PromptFamily:
    """How models of one family are asked: a raw frame, or a user message in the model's chat template."""

    message: Callable[[LanguagePair], str]
    chat: bool

    def render(self, pair: LanguagePair, template: ChatTemplate) -> Prompt:
        """Return the pair's prompt.

        Raises:
            PromptError: the chat template does not carry the text through exactly once.
        """
        whole = self.message(pair)
        if self.chat:
            whole = template(whole)
        parts = whole.split(_TEXT)
        if len(parts) != 2:
            message = f"the chat template renders the text {len(parts) - 1} times; it must stand there once"
            raise PromptError(message)
        return Prompt(parts[0], parts[1])


def _demo_tags(pair: LanguagePair) -> str:
    """Source: models/CARD.md."""
    return f"<s><{pair.source}><{pair.target}>{_TEXT}<sep>"


# Where the family's own list of languages (README of Tencent-Hunyuan/Hunyuan-MT) differs from CLDR's names.
_HUNYUAN_NAMES: Final = {"zh-Hant": ("Traditional Chinese", "繁体中文")}


def _hy_mt2(pair: LanguagePair) -> str:
    """Source: model card of tencent/Hy-MT2 (Chinese instruction where Chinese is involved, English otherwise)."""
    target = Language.get(pair.target)
    english, chinese = _HUNYUAN_NAMES.get(pair.target, (target.display_name("en"), target.display_name("zh")))
    if "zh" in (pair.source.split("-")[0], pair.target.split("-")[0]):
        return f"将以下文本翻译为{chinese}，注意只需要输出翻译后的结果，不要额外解释：\n\n{_TEXT}"
    return (
        f"Translate the following text into {english}. Note that you should only output the translated result "
        f"without any additional explanation:\n\n{_TEXT}"
    )


FAMILIES: Final[dict[str, PromptFamily]] = {
    "demo-tags": PromptFamily(_demo_tags, chat=False),
    "hy-mt2": PromptFamily(_hy_mt2, chat=True),
}
