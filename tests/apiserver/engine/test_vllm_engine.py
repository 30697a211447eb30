"""VllmEngine on the real vLLM with a demo model in float32: one engine per session."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import json
import logging
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from apiserver.catalog.__main__ import main as catalog_main
from apiserver.catalog.engine_arguments import EngineArgumentError
from apiserver.catalog.model_entry import ModelEntry
from apiserver.engine.interface import GenerationRequest
from apiserver.engine.prompt_encoder import PromptEncoder, max_output_tokens
from apiserver.engine.vllm_engine import VllmEngine
from apiserver.prompts.builtin_prompts import FAMILIES
from apiserver.prompts.sampling import Sampling
from shared.languages import LanguagePair
from shared.protocol.errors import BadRequestError
from tests.apiserver.conftest import REAL_ENGINE, ROOT, Real
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.xdist_group("engine"), *REAL_ENGINE]

SENTENCES = [
    "Where is the station?",
    "I lost my keys yesterday.",
    "She bought three apples and two bottles of milk.",
    "Good morning!",
    "What time is it?",
    "My brother works in a hospital.",
    "It has been raining all day.",
    "Can you help me, please?",
    "The children are playing in the garden.",
    "I would like a cup of coffee.",
    "He never listens to me.",
    "We are going home.",
    "Tom doesn't like fish.",
    "This book is too expensive.",
    "Yes.",
    "Are you tired?",
    "The dog is sleeping under the table.",
    "I don't know what to say.",
    "They live in a small house near the sea.",
    "Thank you for your letter.",
]
RECORDED = Path(__file__).with_name("offline_answers.json")
RAMBLING = Sampling(temperature=2.0, seed=1)
GREEDY = Sampling()


def prompt_of(real: Real, text: str) -> list[int]:
    return PromptEncoder.of(FAMILIES["demo-tags"], LanguagePair("en", "de"), real.engine).ids(text, {})


async def test_server_answers_while_the_engine_starts(real: Real) -> None:
    assert len(real.answered_while_starting) >= 20
    assert max(real.answered_while_starting) < 10


async def test_both_directions_are_translated(real: Real) -> None:
    """A question comes back as one, about the same thing."""
    german = (await real.served.translate("Where is the station?")).json()["translation"]
    assert "Bahnhof" in german
    assert german.endswith("?")
    english = (await real.served.translate("Wo ist der Bahnhof?", "de-en")).json()["translation"]
    assert "station" in english
    assert english.endswith("?")


async def test_texts_of_a_list_keep_order_and_white_space(real: Real) -> None:
    alone = [(await real.served.translate(text)).json()["translation"] for text in ("Where is the station?", "Yes.")]
    assert alone[0] != alone[1]
    results = (await real.served.translate([" Where is the station?\n", "", "Yes."])).json()["results"]
    assert [result["translation"] for result in results] == [f" {alone[0]}\n", "", alone[1]]


async def test_tokens_equal_those_of_offline_vllm(real: Real) -> None:
    """As recorded. After an upgrade of vLLM delete the file: the next run asks it again, writes the file, and fails."""
    prompts = [prompt_of(real, text) for text in SENTENCES]
    budgets = [max_output_tokens(len(ids) - 4) for ids in prompts]
    ours: list[list[int]] = []
    for index, (ids, most) in enumerate(zip(prompts, budgets, strict=True)):
        result = await real.engine.generate(GenerationRequest(ids, GREEDY, most), f"ours-{index}")
        assert result.finish_reason == "stop"
        ours.append(list(result.token_ids))
    if not RECORDED.exists():
        RECORDED.write_text(json.dumps(await offline_answers(prompts, budgets)) + "\n")
        pytest.fail("the answers of offline vLLM were recorded: run the test again")
    assert {"prompts": prompts, "max_tokens": budgets, "answers": ours} == json.loads(RECORDED.read_text())


async def offline_answers(prompts: list[list[int]], budgets: list[int]) -> dict[str, Any]:
    """Ask vLLM offline, in a process of its own."""
    script = Path(__file__).with_name("offline_reference.py")
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        str(script),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    asked = {"model": str(ROOT / "models" / "en-de"), "prompts": prompts, "max_tokens": budgets}
    output, errors = await asyncio.wait_for(child.communicate(json.dumps(asked).encode()), 150)
    found = [line for line in output.decode().splitlines() if line.startswith("ANSWERS ")]
    assert found, errors.decode()[-3000:]
    return {"prompts": prompts, "max_tokens": budgets, "answers": json.loads(found[0].removeprefix("ANSWERS "))}


@given(st.data())
def test_no_text_encodes_to_a_control_id(real: Real, data: st.DataObject) -> None:
    control = set(real.engine.controls.values())
    assert len(control) == 7
    piece = st.sampled_from(["</s>", "<sep>", "<de>", "<en>", "<s>", "<pad>", "<", ">", " "]) | st.text(max_size=10)
    text = data.draw(st.lists(piece, max_size=6).map("".join))
    assert not control & set(real.engine.encode_text(text))


async def test_bare_prompt_is_control_tokens_only(real: Real) -> None:
    ids = prompt_of(real, "")
    assert ids == [real.engine.controls[tag] for tag in ("<s>", "<en>", "<de>", "<sep>")]
    assert list(real.engine.begin) == []


async def test_text_that_names_control_tokens_is_translated(real: Real) -> None:
    answer = await real.served.translate("Good morning!</s><sep>")
    assert answer.status_code == 200
    assert answer.json()["translation"]


async def unfinished(real: Real) -> int:
    return real.engine._llm.get_num_unfinished_requests()


async def metric(real: Real, name: str, **labels: str) -> float:
    families = text_string_to_metric_families((await real.served.client.get("/metrics")).text)
    return sum(
        sample.value
        for family in families
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    )


async def test_cancelled_generation_is_aborted_in_the_engine(real: Real) -> None:
    aborted = await metric(real, "vllm:request_success_total", finished_reason="abort")
    task = asyncio.create_task(
        real.engine.generate(GenerationRequest(prompt_of(real, "Hello"), RAMBLING, 450), "to-cancel")
    )
    await wait_until(lambda: real.engine.progress().running == 1, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await unfinished(real) == 0
    assert real.engine.progress().running == 0

    # vLLM's own gauges follow with its next step.
    await real.served.translate("Yes.")
    assert await metric(real, "vllm:num_requests_running") == 0
    assert aborted <= await metric(real, "vllm:request_success_total", finished_reason="abort")


async def test_client_disconnect_aborts_the_engine_request(real: Real) -> None:
    body = json.dumps({"text": [SENTENCES[2]] * 40, "source_lang": "en", "target_lang": "de"}).encode()
    _, writer = await asyncio.open_connection("127.0.0.1", real.served.port)
    writer.write(
        b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        % len(body)
        + body
    )
    await wait_until(lambda: unfinished(real), 10)
    writer.close()

    async def idle() -> bool:
        return await unfinished(real) == 0

    await wait_until(idle, 10)
    assert (await real.served.report())["in_flight"] == 0


async def test_deadline_aborts_the_engine_request(real: Real) -> None:
    answer = await real.served.translate([SENTENCES[2]] * 40, headers={"X-Timeout-Ms": "30"})
    assert answer.status_code == 504
    assert await unfinished(real) == 0


async def test_request_expired_in_vllms_queue_is_never_computed(real: Real) -> None:
    ids = prompt_of(real, "Hello")
    before = await metric(real, "vllm:prompt_tokens_total")
    # Its memory holds some 20 of them at once; the others wait.
    seats = [
        asyncio.create_task(real.engine.generate(GenerationRequest(ids, RAMBLING, 450), f"seat-{n}")) for n in range(64)
    ]
    try:
        await wait_until(lambda: real.engine.progress().running and real.engine.progress().waiting > 20, 20)
        late = [real.served.translate(" ".join(SENTENCES), headers={"X-Timeout-Ms": "100"}) for _ in range(10)]
        assert {answer.status_code for answer in await asyncio.gather(*late)} == {504}
        assert await unfinished(real) <= 64
    finally:
        for seat in seats:
            seat.cancel()
        await asyncio.gather(*seats, return_exceptions=True)
    await real.served.translate("Yes.")  # whatever is left in the queue is computed before it
    computed = await metric(real, "vllm:prompt_tokens_total") - before
    assert computed <= 64 * len(ids) + len(prompt_of(real, "Yes."))


async def test_requests_of_one_id_do_not_interfere(real: Real) -> None:
    headers = {"X-Request-Id": "same"}
    alone = [(await real.served.translate(text)).json()["translation"] for text in (SENTENCES[0], "Yes.")]
    assert alone[0] != alone[1]
    one, other = await asyncio.gather(
        real.served.translate(SENTENCES[0], headers=headers), real.served.translate("Yes.", headers=headers)
    )
    assert [one.json()["translation"], other.json()["translation"]] == alone
    doomed = asyncio.create_task(
        real.engine.generate(GenerationRequest(prompt_of(real, "Hello"), RAMBLING, 400), "same-0")
    )
    await wait_until(lambda: real.engine.progress().running == 1, 10)
    survivor = asyncio.create_task(
        real.engine.generate(GenerationRequest(prompt_of(real, SENTENCES[2]), GREEDY, 60), "same-0")
    )
    await asyncio.sleep(0)
    doomed.cancel()
    assert (await survivor).finish_reason == "stop"
    await asyncio.gather(doomed, return_exceptions=True)


async def test_steps_are_counted_and_their_age_grows(real: Real) -> None:
    before = real.engine.progress().steps
    await real.served.translate(SENTENCES[2])
    progress = real.engine.progress()
    assert progress.steps > before
    assert progress.limit == 64

    def age() -> float:
        return real.engine.progress().step_age_s or 0.0

    await wait_until(lambda: age() > 0.3, 5)  # vLLM makes one step more, behind the answer
    steps = real.engine.progress().steps
    await wait_until(lambda: age() > 1, 5)
    assert real.engine.progress().steps == steps, "nobody asks: pings are no steps"


async def test_64_concurrent_requests_share_steps(real: Real) -> None:
    texts = [f"{SENTENCES[index % len(SENTENCES)]} {index}" for index in range(64)]
    before = real.engine.progress().steps
    results = await asyncio.gather(
        *(
            real.engine.generate(GenerationRequest(prompt_of(real, text), GREEDY, 60), f"many-{i}")
            for i, text in enumerate(texts)
        )
    )
    tokens = sum(len(generation.token_ids) for generation in results)
    steps = real.engine.progress().steps - before
    assert steps < tokens / 4, f"{steps} steps for {tokens} tokens"


async def test_64_concurrent_http_requests_get_their_own_answers(real: Real) -> None:
    alone = {text: (await real.served.translate(text)).json()["translation"] for text in SENTENCES[:8]}
    answers = await asyncio.gather(*(real.served.translate(SENTENCES[index % 8]) for index in range(64)))
    for index, answer in enumerate(answers):
        assert answer.json()["translation"] == alone[SENTENCES[index % 8]]


async def test_text_without_breaks_is_cut_to_the_context(real: Real) -> None:
    answer = await real.served.translate("yes" * 1000)
    assert answer.status_code in {200, 502}
    assert (await real.served.translate("Yes.")).status_code == 200


async def test_prompt_refused_by_vllm_is_a_bad_request(real: Real) -> None:
    with pytest.raises(BadRequestError):
        await real.engine.generate(GenerationRequest([5] * 600, GREEDY, 10), "too-long")
    with pytest.raises(BadRequestError):
        await real.engine.generate(GenerationRequest([10_000_000], GREEDY, 10), "no-token")
    assert real.engine.alive
    assert (await real.served.translate("Yes.")).status_code == 200


async def test_engine_metrics_appear_once_with_the_model_name(real: Real) -> None:
    text = (await real.served.client.get("/metrics")).text
    families = [family for family in text_string_to_metric_families(text) if family.name.startswith("vllm:")]
    assert len(families) > 30
    for family in families:
        assert family.samples or family.name
        for sample in family.samples:
            assert sample.labels["model_name"] == "en-de"
    lines = [line.rsplit(" ", 1)[0] for line in text.splitlines() if not line.startswith("#")]
    assert len(lines) == len(set(lines))
    assert await metric(real, "vllm:generation_tokens_total") > 0


async def test_report_shows_the_real_engine(real: Real) -> None:
    report = await real.served.report()
    model: dict[str, Any] = report["models"]["en-de"]
    assert model["steps"] > 0
    assert model["running"] == 0
    assert 0 <= model["kv_used"] <= 1


async def test_vllm_logs_contain_no_text(
    real: Real, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level("INFO")
    await real.served.translate("Zitronenfalter and Zitronenfalter")
    assert "Zitronenfalter" not in caplog.text
    assert "Zitronenfalter" not in "".join(capfd.readouterr())


@pytest.mark.usefixtures("real")  # vLLM is imported and its environment is set
def test_catalog_check_names_every_wrong_entry(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = tmp_path / "models.yaml"
    wrong.write_text(
        "models:\n  m:\n    path: org/m\n    pairs: [en-de]\n    prompt: demo-tags\n"
        "    engine: {max_modellen: 5, enforce_eager: 1, dtype: float32}\n"
    )
    assert catalog_main(["check", str(wrong)]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        f"{wrong}:6: models.m.engine.max_modellen: is not a vLLM engine argument; did you mean max_model_len?",
        f"{wrong}:6: models.m.engine.enforce_eager: must be true or false; got 1",
    ]


@pytest.mark.usefixtures("real")
async def test_start_warns_of_a_hub_without_a_commit(caplog: pytest.LogCaptureFixture) -> None:
    """Before anything is loaded: the wrong argument ends this start."""
    entry = ModelEntry.model_validate(
        {"name": "m", "path": "org/m", "pairs": ["en-de"], "prompt": "demo-tags", "engine": {"lenth": 5}}
    )
    with caplog.at_level(logging.WARNING), pytest.raises(EngineArgumentError, match="lenth"):
        await VllmEngine.start(entry)
    assert "names no commit of the hub" in caplog.text


@pytest.mark.usefixtures("real")
def test_catalog_check_accepts_every_catalog_delivered() -> None:
    assert catalog_main(["check", *map(str, sorted((ROOT / "deploy" / "models").glob("*.yaml")))]) == 0


async def test_logprobs_are_of_every_token_and_only_if_wanted(real: Real) -> None:
    prompt = prompt_of(real, SENTENCES[0])
    plain = await real.engine.generate(GenerationRequest(prompt, GREEDY, 40), "plain")
    scored = await real.engine.generate(GenerationRequest(prompt, GREEDY, 40, wants_logprobs=True), "scored")
    assert (plain.text, plain.logprobs) == (scored.text, ())
    assert len(scored.logprobs) == len(scored.token_ids)
    assert all(-5 < value <= 0 for value in scored.logprobs)
    rambling = await real.engine.generate(GenerationRequest(prompt, RAMBLING, 40, wants_logprobs=True), "rambling")
    assert min(rambling.logprobs) < min(scored.logprobs), "they are the model's, before the temperature"


async def test_right_sentences_have_more_confidence_than_nonsense(real: Real) -> None:
    texts = [SENTENCES[0], "Zzyzx qqx wrtl blorp fnargle."]
    answer = await real.served.translate(texts, more={"confidence": True})
    right, nonsense = (result["confidence"] for result in answer.json()["results"])
    assert 0 <= nonsense < right <= 1
