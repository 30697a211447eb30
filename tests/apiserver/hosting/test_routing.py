"""Which hosts serve which pairs, while models change."""

from __future__ import annotations

from apiserver.hosting.routing import Routing
from shared.languages import LanguagePair
from tests.apiserver.changes.samples import entry_of, host_of

EN_DE, EN_FR = LanguagePair("en", "de"), LanguagePair("en", "fr")


def test_hosts_serve_in_their_order() -> None:
    first, second = host_of(entry_of("a", "en-de")), host_of(entry_of("b", "en-de", "en-fr"))
    routing = Routing.of([first, second])
    assert routing.by_pair == {EN_DE: (first, second), EN_FR: (second,)}
    assert list(routing.serving(LanguagePair("en", "de-AT"))) == [EN_DE]


def test_replacement_takes_the_place_and_the_old_one_drains() -> None:
    first, second, new = (host_of(entry_of(name, "en-de")) for name in "abc")
    routing = Routing.of([first, second])
    replaced = routing.switched([new, second], [first])
    assert (replaced.hosts, replaced.draining) == ((new, second), (first,))
    assert replaced.by_pair[EN_DE] == (new, second)
    assert replaced.without(first).draining == ()
    assert routing.hosts == (first, second), "a routing never changes"


def test_pairs_of_a_replacement_are_served() -> None:
    old, new = host_of(entry_of("a", "en-de")), host_of(entry_of("b", "en-de", "en-fr"))
    assert not Routing.of([old]).serving(EN_FR)
    assert list(Routing.of([old]).switched([new], [old]).serving(EN_FR)) == [EN_FR]
