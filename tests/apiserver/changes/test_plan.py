"""What a model change replaces, and what it refuses."""

from __future__ import annotations

import pytest

from apiserver.changes.plan import check_entry, hosted, ranks_of
from shared.languages import LanguagePair
from shared.protocol.errors import ChangeRefusedError, UnknownModelError
from tests.apiserver.changes.samples import entry_of, host_of


def test_hosted_names_all_for_an_unknown_model() -> None:
    hosts = [host_of(entry_of("a")), host_of(entry_of("b"))]
    assert hosted(hosts, "b") is hosts[1]
    with pytest.raises(UnknownModelError, match="hosts no model c; it hosts a, b"):
        hosted(hosts, "c")


def test_entry_without_a_pair_is_refused() -> None:
    old = host_of(entry_of("a"))
    with pytest.raises(ChangeRefusedError) as caught:
        check_entry([old], old, entry_of("b", "en-de", "en-fr"))
    assert caught.value.facts == {"missing_pairs": ["de-en"]}


def test_entry_hosted_elsewhere_is_refused() -> None:
    old, other = host_of(entry_of("a")), host_of(entry_of("b"))
    with pytest.raises(ChangeRefusedError, match="b is hosted here already"):
        check_entry([old, other], old, entry_of("b"))
    check_entry([old, other], old, entry_of("a"))


def test_new_model_takes_the_old_ranks() -> None:
    old = host_of(entry_of("a"), rank=2)
    catalog_ranks = {LanguagePair("en", "de"): 5, LanguagePair("en", "fr"): 1}
    assert ranks_of(old, catalog_ranks) == {LanguagePair("en", "de"): 2, LanguagePair("en", "fr"): 1}
