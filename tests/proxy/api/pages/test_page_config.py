"""Configuration of pages: what they must know of their proxy."""

from __future__ import annotations

from proxy.api.pages.page_config import page_config
from proxy.settings import ProxySettings


def test_pages_are_on_unless_turned_off() -> None:
    assert ProxySettings().pages
    assert not ProxySettings.model_validate({"pages": "off"}).pages


def test_config_has_what_pages_need_and_no_secret() -> None:
    settings = ProxySettings.model_validate(
        {"keys": "on", "max_text_chars": 5000, "operator_token": "a-token-of-operators", "replica_token": "b" * 20}
    )
    config = page_config(settings)
    assert set(config.model_dump()) == {"version", "max_text_chars", "keys"}
    assert (config.max_text_chars, config.keys) == (5000, True)
