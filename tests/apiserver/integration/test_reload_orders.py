"""Who may reload a catalog, and which orders are refused."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.changes.memory import ENGINE_OVERHEAD_BYTES, MARGIN_BYTES
from tests.apiserver.conftest import SettingsFor, serving
from tests.apiserver.integration.operated_server import CATALOG, RENAMED, TOKEN, Operated, problem
from tests.support.scripted_engine import ScriptedFactory

PROXY_TOKEN = "a-proxys-token-long-enough"
CALLS = (("GET", "/models"), ("POST", "/models/reload"), ("DELETE", "/models/reload"))


async def test_reloads_without_a_token_setting_are_off(factory: ScriptedFactory, settings_for: SettingsFor) -> None:
    async with serving(factory, settings_for()) as served:
        answer = await served.client.get("/models", headers={"Authorization": f"Bearer {TOKEN}"})
        assert problem(answer) == (403, "operator-off")
        assert "APISERVER_OPERATOR_TOKEN" in answer.json()["detail"]


async def test_proxys_token_does_not_change_models(factory: ScriptedFactory, settings_for: SettingsFor) -> None:
    async with serving(factory, settings_for(token=PROXY_TOKEN, operator_token=TOKEN)) as served:
        for method, path in CALLS:
            shown = {"Authorization": f"Bearer {PROXY_TOKEN}"}
            assert problem(await served.client.request(method, path, headers=shown)) == (403, "key-refused")
            assert problem(await served.client.request(method, path)) == (401, "key-required")
        answer = await served.client.get("/report", headers={"Authorization": f"Bearer {TOKEN}"})
        assert problem(answer) == (403, "key-refused"), "an operator is no proxy"


@pytest.mark.parametrize("order", [{"path": "/x"}, {"entry": "en-de-v2"}, {"hold": True}, {"swap": "yes"}])
async def test_order_names_no_entry_and_no_path(operated: Operated, order: dict[str, Any]) -> None:
    assert problem(await operated.reload(RENAMED, **order)) == (422, "invalid-request")
    assert operated.factory.starts == ["en-de", "en-fr"]
    assert (await operated.models())["last_reload"] is None


async def test_wrong_catalog_is_refused_with_its_lines(operated: Operated) -> None:
    answer = await operated.reload(CATALOG + "  bad: {path: ./v2}\n  worse: 3\n")
    assert problem(answer) == (409, "catalog-refused")
    assert len(answer.json()["issues"]) >= 2
    assert ":5:" in answer.json()["detail"]
    on_disk = (await operated.models())["catalog"]
    assert (on_disk["entries"], on_disk["issues"]) == ([], answer.json()["issues"])
    assert await operated.model_of() == "en-de"


async def test_weights_that_cannot_be_read_are_said(operated: Operated, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable(*_: object) -> str:
        raise OSError("a bad disk")

    monkeypatch.setattr("apiserver.changes.plan.model_revision", unreadable)
    answer = await operated.reload()
    assert problem(answer) == (409, "catalog-refused")
    assert "The weights of en-de cannot be read: a bad disk" in answer.json()["detail"]
    assert (await operated.models())["catalog"]["issues"] == [answer.json()["detail"]]


async def test_names_of_the_setting_stay(
    factory: ScriptedFactory, settings_for: SettingsFor, operated: Operated
) -> None:
    folder = operated.catalog.parent
    settings = settings_for(CATALOG, models=("en-de",), operator_token=TOKEN)
    async with serving(factory, settings, operated.memory) as served:
        await served.until_ready({"en-de", "de-en"})
        named = Operated(served, factory, operated.memory, operated.catalog)
        (folder / "fr" / "model.safetensors").write_text("of no interest")
        assert (await named.reload()).json()["reload"] is None, "en-fr is not hosted here"
        answer = await named.reload(RENAMED)
        assert problem(answer) == (409, "catalog-refused")
        assert "has no model en-de" in answer.json()["detail"]
        assert problem(await named.reload(remove=True)) == (409, "catalog-refused")


async def test_model_without_memory_is_refused_with_figures(operated: Operated) -> None:
    operated.memory.available = ENGINE_OVERHEAD_BYTES + MARGIN_BYTES  # nothing for weights and cache
    answer = await operated.reload(RENAMED)
    assert problem(answer) == (409, "change-refused")
    detail = answer.json()["detail"]
    assert "MiB are available" in detail
    assert '"swap": true' in detail
    assert answer.json()["needed_bytes"] > answer.json()["available_bytes"] - answer.json()["margin_bytes"]
    assert operated.factory.starts == ["en-de", "en-fr"]


async def test_memory_that_went_meanwhile_fails_the_second_change(operated: Operated) -> None:
    old, waiting = await operated.with_request_in_flight()
    await operated.reload(CATALOG.replace("max_num_seqs: 4", "max_num_seqs: 5"))
    await operated.until_step("unloading")
    operated.memory.available = MARGIN_BYTES
    old.gate.set()
    await waiting
    first, second = (await operated.ended())["changes"]
    assert (first["outcome"], second["outcome"]) == ("switched", "failed")
    assert "MiB are available" in second["why"]


async def test_reload_checks_the_shares_of_every_model(operated: Operated) -> None:
    operated.memory.kind = "cuda"
    answer = await operated.reload(CATALOG.replace("kv_cache_memory_bytes: 1048576", ""))
    assert problem(answer) == (409, "change-refused")
    assert "may take a whole cuda device" in answer.json()["detail"]
    assert operated.factory.starts == ["en-de", "en-fr"], "not even the first model"
