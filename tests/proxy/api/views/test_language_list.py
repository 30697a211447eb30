"""The JSON of /languages, apart from HTTP."""

from __future__ import annotations

from proxy.api.views.language_list import Languages, languages
from tests.proxy.samples import replica, snapshot


def test_languages_are_grouped_by_source() -> None:
    fleet = snapshot(replica("http://a", "en>de", "de>en"), remembered=("en>fr",))
    found = Languages.model_validate_json(languages(fleet, None))
    assert [(each.lang, [(to.lang, to.ready) for to in each.targets]) for each in found.languages] == [
        ("de", [("en", True)]),
        ("en", [("de", True), ("fr", False)]),
    ]
