"""Answers on the wire: members that are left out, and members that are kept."""

from __future__ import annotations

import json

from shared.protocol.answers import Detected, Problem, Translation


def test_to_json_has_detected_only_after_detection() -> None:
    plain = Translation(translation="a", source_lang="en", target_lang="de", model=None, route=["en", "de"])
    assert "detected" not in json.loads(plain.to_json())
    with_it = plain.model_copy(update={"detected": Detected(lang="en", confidence=0.5)})
    assert json.loads(with_it.to_json())["detected"] == {"lang": "en", "confidence": 0.5}


def test_problem_keeps_unknown_members() -> None:
    members = {"type": "t", "title": "t", "status": 413, "code": "too-large", "detail": "d", "limit": 5}
    problem = Problem.model_validate(members)
    assert problem.model_extra == {"limit": 5}
