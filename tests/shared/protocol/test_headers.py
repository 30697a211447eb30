"""Bearer tokens: their form, and who is let in; the caller's tag."""

from __future__ import annotations

import pytest
from pydantic import SecretStr

from shared.protocol.errors import KeyRefusedError, KeyRequiredError
from shared.protocol.headers import (
    authenticate,
    authorization_header,
    caller_from_header,
    mask_secrets,
    parse_bearer,
    validate_token,
)

TOKEN = SecretStr("0123456789abcdef")


@pytest.mark.parametrize("text", ["", "x" * 16, "x" * 256])
def test_validate_accepts_16_to_256_characters_or_none(text: str) -> None:
    assert validate_token(SecretStr(text)).get_secret_value() == text


@pytest.mark.parametrize("text", ["x" * 15, "x" * 257, "x" * 15 + " ", "ä" * 16])
def test_validate_refuses_without_repeating_the_token(text: str) -> None:
    with pytest.raises(ValueError, match="16 to 256") as caught:
        validate_token(SecretStr(text))
    assert text not in str(caught.value)


@pytest.mark.parametrize(
    ("authorization", "token"),
    [
        *((None, None), ("", None), ("Bearer", None), ("Bearer  ", None), ("Basic abc", None)),
        *(("Bearer abc", "abc"), ("bearer abc", "abc"), ("BEARER  abc ", "abc")),
    ],
)
def test_parse_reads_any_case_of_the_scheme(authorization: str | None, token: str | None) -> None:
    assert parse_bearer(authorization) == token


def test_authenticate_accepts_the_header_of_its_token() -> None:
    header = authorization_header(TOKEN)
    authenticate(TOKEN, header, subject="Orders", owner="the operator's")


def test_authenticate_accepts_the_previous_token_too() -> None:
    previous = SecretStr("the-previous-token")
    for token in (TOKEN, previous):
        header = authorization_header(token)
        authenticate(TOKEN, header, subject="Orders", owner="the operator's", previous=previous)
    for wrong in ("Bearer the-previous-toke", "Bearer other"):
        with pytest.raises(KeyRefusedError):
            authenticate(TOKEN, wrong, subject="Orders", owner="the operator's", previous=previous)


def test_authenticate_names_what_needs_the_token() -> None:
    with pytest.raises(KeyRequiredError, match="Orders need the header Authorization"):
        authenticate(TOKEN, None, subject="Orders", owner="the operator's")
    with pytest.raises(KeyRefusedError, match="not the operator's token") as caught:
        authenticate(TOKEN, "Bearer other", subject="Orders", owner="the operator's")
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
    assert mask_secrets(text) == masked


@pytest.mark.parametrize("value", [None, "", "x", "0" * 15, "0" * 17, "0123456789ABCDEF", "0123456789abcdef "])
def test_caller_without_a_valid_tag_is_empty(value: str | None) -> None:
    assert caller_from_header(value) == ""


def test_caller_is_its_tag() -> None:
    assert caller_from_header("0123456789abcdef") == "0123456789abcdef"
