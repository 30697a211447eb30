"""Owners: keys and words are never confused, and no word is written down."""

from __future__ import annotations

from proxy.glossaries.owner import owner_of_key, owner_of_word


def test_words_have_stable_digests_that_hide_them() -> None:
    owner = owner_of_word("my word")
    assert owner == owner_of_word("my word")
    assert owner.name == "word-f9b7e596b0eb14bc688dc78df3193339"
    assert "my word" not in repr(owner)
    assert owner.expires


def test_owners_of_other_words_and_keys_differ() -> None:
    words = ["a", "A", "a ", "0123456789ab", "key-0123456789ab", "ü", "\udcff"]
    owners = {owner_of_word(word).name for word in words} | {owner_of_key("0123456789ab").name}
    assert len(owners) == len(words) + 1


def test_owner_of_a_key_lasts() -> None:
    owner = owner_of_key("0123456789ab")
    assert (owner.name, owner.expires) == ("key-0123456789ab", False)
