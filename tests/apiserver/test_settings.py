"""Settings: read from the environment, misspelt names refused; what an engine may be told."""

from __future__ import annotations

import logging

import pytest
from pydantic import ValidationError

from apiserver.catalog.engine_arguments import EngineArgumentError, check_arguments, check_share
from apiserver.catalog.model_entry import ModelEntry
from apiserver.settings import PREFIX, ApiServerSettings
from shared.runtime.settings import UnknownSettingError, refuse_unknown


def entry(**engine: object) -> ModelEntry:
    return ModelEntry.model_validate(
        {"name": "m", "path": "org/m", "pairs": ["en-de"], "prompt": "demo-tags", "engine": engine}
    )


@pytest.mark.parametrize("name", ["APISERVER_MODLES", "APISERVER_", "apiserver_prot", "APISERVER_PROXY_PORT"])
def test_a_misspelt_setting_is_refused_by_name(name: str) -> None:
    with pytest.raises(UnknownSettingError, match=name):
        refuse_unknown(PREFIX, ApiServerSettings.model_fields, {name: "1", "PATH": "/bin"})


def test_every_setting_is_known_in_any_case() -> None:
    names = [f"{PREFIX}{field}" for field in ApiServerSettings.model_fields]
    refuse_unknown(PREFIX, ApiServerSettings.model_fields, dict.fromkeys([*names, *map(str.upper, names)], "1"))


def test_models_are_split_at_commas_and_blanks_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APISERVER_MODELS", " en-de, ,en-fr,")
    assert ApiServerSettings().models == ("en-de", "en-fr")


def test_models_unset_or_empty_mean_all(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ApiServerSettings().models == ()
    monkeypatch.setenv("APISERVER_MODELS", "")
    assert ApiServerSettings().models == ()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", "0"),
        ("PORT", "65536"),
        ("PORT", "http"),
        ("PORT", ""),
        ("REQUEST_TIMEOUT", "0"),
        ("REQUEST_TIMEOUT", "nan"),
        ("REQUEST_TIMEOUT", "inf"),
        ("MAX_WAITING", "-1"),
        ("MAX_TEXTS", "0"),
        ("MAX_BODY_BYTES", "1e99"),
        ("DRAIN_SECONDS", "-1"),
        ("STALL_SECONDS", "0.4"),
        ("STALL_SECONDS", "nan"),
        ("WEIGHT", "0"),
        ("WEIGHT", "101"),
        ("LOG_LEVEL", "loud"),
        ("LOG_LEVEL", "xinfox"),
        ("LOG_FORMAT", "xml"),
    ],
)
def test_a_wrong_value_is_refused_and_its_field_named(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(f"APISERVER_{name}", value)
    with pytest.raises(ValidationError, match=name.lower()):
        ApiServerSettings()


def test_a_queue_longer_than_a_request_may_take_is_refused_and_both_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APISERVER_QUEUE_SECONDS", "31")
    with pytest.raises(ValidationError, match=r"QUEUE_SECONDS \(31 s\) .* APISERVER_REQUEST_TIMEOUT \(30 s\)"):
        ApiServerSettings()


def test_an_argument_that_vllm_does_not_have_is_refused_with_the_closest() -> None:
    with pytest.raises(EngineArgumentError, match=r"models\.m\.engine\.max_num_seq is no .* max_num_seqs"):
        check_arguments(entry(max_num_seq=1), {"max_num_seqs", "dtype"})


def test_an_argument_like_none_of_vllms_is_refused_without_a_guess() -> None:
    with pytest.raises(EngineArgumentError) as caught:
        check_arguments(entry(zzz=1), {"max_num_seqs", "dtype"})
    assert "did you mean" not in str(caught.value)


def test_arguments_that_vllm_has_are_let_through() -> None:
    check_arguments(entry(dtype="float32"), {"max_num_seqs", "dtype"})


def test_several_engines_on_a_gpu_each_need_a_share() -> None:
    with pytest.raises(EngineArgumentError, match=r"models\.m .*cuda.*gpu_memory_utilization"):
        check_share(entry(), "cuda")


@pytest.mark.parametrize("share", ["gpu_memory_utilization", "kv_cache_memory_bytes"])
def test_several_engines_on_a_gpu_with_shares_are_warned_about(share: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        check_share(entry(**{share: 0.4}), "cuda")
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_several_engines_on_a_cpu_need_no_share() -> None:
    check_share(entry(), "cpu")
