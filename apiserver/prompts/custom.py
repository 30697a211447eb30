"""Custom prompts: templates written in a catalog, which become families."""

from __future__ import annotations

from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from apiserver.prompts.family import MESSAGE_SLOTS, PAIR_SLOTS, TERM_SLOTS, MessageTemplate, PromptFamily
from apiserver.prompts.pair_prompt import slots_of
from shared.languages import canonical_tag

# Slots that each template must have once, and may have.
_SLOTS: Final = {
    "template": (frozenset({"text"}), MESSAGE_SLOTS - {"terms", "context"}),
    "term_template": (frozenset({"text", "terms"}), MESSAGE_SLOTS - {"context"}),
    "context_template": (frozenset({"text", "context"}), MESSAGE_SLOTS - {"terms"}),
    "term_line": (TERM_SLOTS, TERM_SLOTS),
    "system": (frozenset[str](), PAIR_SLOTS),
}


class CustomPrompt(BaseModel):
    """Templates with slots in braces: ``{source}``, ``{target}`` (names), their codes, ``{text}``."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    template: str = Field(description="The user's message; with chat: false the whole prompt.")
    chat: bool = Field(default=True, description="Whether to apply the model's chat template.")
    system: str | None = Field(default=None, description="The system message; needs chat: true.")
    names: dict[str, str] = Field(default_factory=dict, description="Language names that differ from CLDR's English.")
    stop: tuple[str, ...] = Field(
        default=(), strict=False, description="Tokens that end an answer, in addition to the model's."
    )
    begin: bool = Field(default=False, description="Whether the tokenizer's beginning tokens precede the prompt.")
    term_template: str | None = Field(default=None, description="The template for requests with terms.")
    term_line: str = Field(default="{term} = {translation}", description="The line for each term.")
    context_template: str | None = Field(default=None, description="The template for requests with a context.")

    @field_validator(*_SLOTS)
    @classmethod
    def _good_slots(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is None:
            return None
        required, allowed = _SLOTS[str(info.field_name)]
        slots = slots_of(value)
        if unknown := sorted(slots.keys() - allowed):
            known = ", ".join(f"{{{name}}}" for name in sorted(allowed))
            raise ValueError(f"{{{unknown[0]}}} is not a slot here; slots are {known}, and {{{{ writes a brace")
        for name in sorted(required):
            if slots[name] != 1:
                raise ValueError(f"{{{name}}} must occur once; it occurs {slots[name]} times")
        return value

    @field_validator("names")
    @classmethod
    def _canonical_names(cls, value: dict[str, str]) -> dict[str, str]:
        if blank := [tag for tag, name in value.items() if not name.strip()]:
            raise ValueError(f"the name of {blank[0]} is blank; give the name that the model knows")
        return {canonical_tag(tag): name for tag, name in value.items()}

    @model_validator(mode="after")
    def _no_idle_keys(self) -> CustomPrompt:
        if self.system is not None and not self.chat:
            raise ValueError("system needs chat: true; without a chat template, write it into the template")
        if "term_line" in self.model_fields_set and self.term_template is None:
            raise ValueError("term_line needs a term_template with {terms} in it")
        return self

    @property
    def family(self) -> PromptFamily:
        """The prompt as a family for any language."""
        terms, context = self.term_template, self.context_template
        return PromptFamily(
            "custom",
            MessageTemplate(self.template, names=self.names),
            chat=self.chat,
            system=self.system,
            terms=None if terms is None else MessageTemplate(terms, names=self.names, term_line=self.term_line),
            context=None if context is None else MessageTemplate(context, names=self.names),
            begin=self.begin,
            stop=self.stop,
            regional=True,
        )
