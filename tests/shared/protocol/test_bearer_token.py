"""Bearer tokens: their form, and who is let in."""

from __future__ import annotations

import pytest
from pydantic import SecretStr

from shared.protocol import bearer_token
from shared.protocol.errors import KeyRefusedError, KeyRequiredError

TOKEN = SecretStr("0123456789abcdef")


@pytest.mark.parametrize("text", ["", "x" * 16, "x" * 256])
def test_validate_accepts_16_to_256_characters_or_none(text: str) -> None:
    assert bearer_token.validate(SecretStr(text)).get_secret_value() == text


@pytest.mark.parametrize("text", ["x" * 15, "x" * 257, "x" * 15 + " ", "ä" * 16])
def test_validate_refuses_without_repeating_the_token(text: str) -> None:
    with pytest.raises(ValueError, match="16 to 256") as caught:
        bearer_token.validate(SecretStr(text))
    assert text not in str(caught.value)


@pytest.mark.parametrize(
    ("authorization", "token"),
    [
        *((None, None), ("", None), ("Bearer", None), ("Bearer  ", None), ("Basic abc", None)),
        *(("Bearer abc", "abc"), ("bearer abc", "abc"), ("BEARER  abc ", "abc")),
    ],
)
def test_parse_reads_any_case_of_the_scheme(authorization: str | None, token: str | None) -> None:
    assert bearer_token.parse(authorization) == token


def test_authenticate_accepts_the_header_of_its_token() -> None:
    header = bearer_token.authorization_header(TOKEN)
    bearer_token.authenticate(TOKEN, header, subject="Orders", owner="the operator's")


def test_authenticate_names_what_needs_the_token() -> None:
    with pytest.raises(KeyRequiredError, match="Orders need the header Authorization"):
        bearer_token.authenticate(TOKEN, None, subject="Orders", owner="the operator's")
    with pytest.raises(KeyRefusedError, match="not the operator's token") as caught:
        bearer_token.authenticate(TOKEN, "Bearer other", subject="Orders", owner="the operator's")
    assert TOKEN.get_secret_value() not in caught.value.detail


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("/keys/pw_abc123/x", "/keys/…/x"),
        ("/keys/" + "a1" * 16, "/keys/…"),
        ("/keys/" + "a1" * 17, "/keys/" + "a1" * 17),
        ("/translate", "/translate"),
    ],
)
def test_mask_secrets_hides_keys_alone(text: str, masked: str) -> None:
    assert bearer_token.mask_secrets(text) == masked
