"""The catalog is reloaded, also by a signal; a change is rolled back without it."""

from __future__ import annotations

import pytest

from tests.apiserver.conftest import PAIRS
from tests.apiserver.integration.operated_server import CATALOG, WITHIN, Operated, problem
from tests.support.waiting import wait_until


async def test_reload_changes_what_differs_alone(operated: Operated) -> None:
    answer = await operated.call("POST", "/models/reload", {})
    assert (answer.status_code, answer.json()["change"]) == (202, None)
    (operated.catalog.parent / "v1" / "model.safetensors").write_text("better")
    operated.catalog.write_text(
        CATALOG.replace("path: ./fr, pairs: [en-fr, fr-en]", "path: ./fr, pairs: [fr-en, en-fr]")
    )
    answer = await operated.call("POST", "/models/reload", {})
    assert answer.json()["change"]["entry"] == "en-de"
    assert answer.json()["waiting"] == ["en-fr"]
    last = await operated.ended()
    assert (last["kind"], last["entry"], last["outcome"]) == ("reload", "en-fr", "switched")
    assert operated.factory.starts == ["en-de", "en-fr", "en-de", "en-fr"]
    assert await operated.served.ready_pairs() == PAIRS
    assert (await operated.call("POST", "/models/reload", {})).json()["change"] is None


async def test_reload_stops_at_the_first_failure(operated: Operated) -> None:
    operated.catalog.write_text(CATALOG.replace("max_num_seqs: 4", "max_num_seqs: 5"))
    operated.factory.failures["en-de"] = [OSError("broken")]
    await operated.call("POST", "/models/reload", {})
    last = await operated.ended()
    assert (last["entry"], last["outcome"]) == ("en-de", "failed")
    assert operated.factory.starts == ["en-de", "en-fr", "en-de"]
    assert await operated.served.ready_pairs() == PAIRS


async def test_reload_checks_the_shares_of_every_model(operated: Operated) -> None:
    operated.memory.kind = "cuda"
    operated.catalog.write_text(
        CATALOG.replace("max_num_seqs: 4", "max_num_seqs: 5").replace(
            "path: ./fr, pairs: [en-fr, fr-en], prompt: demo-tags, engine: {max_num_seqs: 5, kv_cache_memory_bytes: 1048576",
            "path: ./fr, pairs: [en-fr, fr-en], prompt: demo-tags, engine: {gpu_memory_utilization: 1.0",
        )
    )
    (operated.catalog.parent / "v1" / "model.safetensors").write_text("better")
    assert (await operated.call("POST", "/models/reload", {})).status_code == 202
    assert (await operated.ended())["outcome"] == "switched", "one whole device is allowed"
    operated.catalog.write_text(
        operated.catalog.read_text().replace("max_num_seqs: 5", "max_num_seqs: 6").replace(": 1.0", ": 0.9")
    )
    starts = list(operated.factory.starts)
    answer = await operated.call("POST", "/models/reload", {})
    assert problem(answer) == (409, "change-refused")
    assert "en-fr 1, en-fr (new) 0.9" in answer.json()["detail"]
    assert operated.factory.starts == starts, "not even the first model, which fits"


async def test_signal_reloads_and_logs_a_refusal(operated: Operated, caplog: pytest.LogCaptureFixture) -> None:
    changer = operated.served.app.state.context.changer
    (operated.catalog.parent / "v1" / "model.safetensors").write_text("better")
    changer.reload_by_signal()
    assert await wait_until(operated.ended, WITHIN) != {}
    assert operated.factory.starts == ["en-de", "en-fr", "en-de"]
    operated.catalog.write_text("models: 3")
    changer.reload_by_signal()
    await wait_until(lambda: "catalog not reloaded" in caplog.text, WITHIN)


async def test_rollback_to_overwritten_weights_fails(operated: Operated) -> None:
    await operated.change()
    await operated.ended()
    (operated.catalog.parent / "v1" / "model.safetensors").write_text("overwritten")
    assert (await operated.call("POST", "/models/rollback", {"model": "en-de-v2"})).status_code == 202
    last = await operated.ended()
    assert last["outcome"] == "failed"
    assert "no longer those that served" in last["why"]
    assert await operated.model_of() == "en-de-v2"


async def test_rollback_needs_no_catalog(operated: Operated) -> None:
    await operated.change()
    await operated.ended()
    operated.catalog.unlink()
    await operated.call("POST", "/models/rollback", {})
    assert (await operated.ended())["outcome"] == "switched"
    assert await operated.model_of() == "en-de"
