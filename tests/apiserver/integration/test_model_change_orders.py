"""Who may change a model, and which orders are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from apiserver.changes.memory import ENGINE_OVERHEAD_BYTES, MARGIN_BYTES
from apiserver.settings import ApiServerSettings
from tests.apiserver.conftest import serving
from tests.apiserver.integration.operated_server import CATALOG, CHANGE, TOKEN, Operated, problem
from tests.support.scripted_engine import ScriptedFactory

PROXY_TOKEN = "a-proxys-token-long-enough"


async def test_changes_without_a_token_setting_are_off(
    factory: ScriptedFactory, settings_for: Callable[..., ApiServerSettings]
) -> None:
    async with serving(factory, settings_for()) as served:
        answer = await served.client.get("/models", headers={"Authorization": f"Bearer {TOKEN}"})
        assert problem(answer) == (403, "operator-off")
        assert "APISERVER_OPERATOR_TOKEN" in answer.json()["detail"]


async def test_proxys_token_does_not_change_models(
    factory: ScriptedFactory, settings_for: Callable[..., ApiServerSettings]
) -> None:
    async with serving(factory, settings_for(token=PROXY_TOKEN, operator_token=TOKEN)) as served:
        for method, path in (
            ("GET", "/models"),
            ("POST", "/models/changes"),
            ("POST", "/models/changes/current/switch"),
            ("DELETE", "/models/changes/current"),
            ("POST", "/models/rollback"),
            ("POST", "/models/reload"),
        ):
            shown = {"Authorization": f"Bearer {PROXY_TOKEN}"}
            assert problem(await served.client.request(method, path, headers=shown)) == (403, "key-refused")
            assert problem(await served.client.request(method, path)) == (401, "key-required")
        answer = await served.client.get("/report", headers={"Authorization": f"Bearer {TOKEN}"})
        assert problem(answer) == (403, "key-refused"), "an operator is no proxy"


@pytest.mark.parametrize(
    ("body", "status", "code", "words"),
    [
        ({"model": "en-ja", "entry": "en-de-v2"}, 404, "unknown-model", "it hosts en-de, en-fr"),
        ({"model": "en-de", "entry": "nothing"}, 404, "unknown-model", "it has en-de, en-fr, en-de-v2, narrow"),
        ({"model": "en-de", "entry": "../../etc"}, 404, "unknown-model", "no model ../../etc"),
        ({"model": "en-de", "entry": "en-fr"}, 409, "change-refused", "hosted here already"),
        ({"model": "en-de", "entry": "narrow"}, 409, "change-refused", "does not serve de-en"),
        ({"model": "en-de"}, 422, "invalid-request", "entry"),
        ({**CHANGE, "path": "/models/x"}, 422, "invalid-request", "path: is not a field"),
        ({**CHANGE, "hold": True, "swap": True}, 422, "invalid-request", "exclude each other"),
    ],
)
async def test_wrong_order_changes_nothing(
    operated: Operated, body: dict[str, Any], status: int, code: str, words: str
) -> None:
    answer = await operated.call("POST", "/models/changes", body)
    assert problem(answer) == (status, code)
    assert words in answer.json()["detail"]
    assert operated.factory.starts == ["en-de", "en-fr"]
    assert (await operated.models())["last_change"] is None


async def test_wrong_catalog_is_refused_with_its_lines(operated: Operated) -> None:
    operated.catalog.write_text(CATALOG + "  bad: {path: ./v2}\n  worse: 3\n")
    for answer in (await operated.change(), await operated.call("POST", "/models/reload", {})):
        assert problem(answer) == (409, "catalog-refused")
        assert len(answer.json()["issues"]) >= 2
        assert ":7:" in answer.json()["detail"]
    assert await operated.model_of() == "en-de"


async def test_nothing_to_switch_abandon_or_roll_back_is_said(operated: Operated) -> None:
    for method, path in (
        ("POST", "/models/changes/current/switch"),
        ("DELETE", "/models/changes/current"),
        ("POST", "/models/rollback"),
    ):
        answer = await operated.call(method, path, {} if path.endswith("rollback") else None)
        assert problem(answer) == (409, "change-refused")


async def test_change_without_memory_is_refused_with_figures(operated: Operated) -> None:
    operated.memory.available = ENGINE_OVERHEAD_BYTES + MARGIN_BYTES  # nothing for weights and cache
    answer = await operated.change()
    assert problem(answer) == (409, "change-refused")
    detail = answer.json()["detail"]
    assert "MiB are available" in detail
    assert '"swap": true' in detail
    assert answer.json()["needed_bytes"] > answer.json()["available_bytes"] - answer.json()["margin_bytes"]
    assert operated.factory.starts == ["en-de", "en-fr"]


async def test_two_models_of_a_gpu_need_shares(operated: Operated) -> None:
    operated.memory.kind = "cuda"
    operated.catalog.write_text(CATALOG.replace("kv_cache_memory_bytes: 1048576", ""))
    answer = await operated.change()
    assert problem(answer) == (409, "change-refused")
    assert "en-de-v2 may take a whole cuda device" in answer.json()["detail"]
