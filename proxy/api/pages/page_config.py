"""Configuration of pages: what they must know of their proxy."""

from __future__ import annotations

from pydantic import BaseModel, Field

from proxy.settings import ProxySettings
from shared.version import VERSION


class PageConfig(BaseModel):
    """Public facts about a proxy, in the HTML of its pages."""

    version: str = Field(default=VERSION, description="Version of the proxy.")
    max_text_chars: int = Field(description="Most characters in one text.")
    keys: bool = Field(description="Whether callers need an API key.")


def page_config(settings: ProxySettings) -> PageConfig:
    """Return what pages of this proxy must know."""
    return PageConfig(max_text_chars=settings.max_text_chars, keys=settings.keys_on)
