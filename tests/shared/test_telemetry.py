"""Logs and metrics: their form, and that they count whatever happens."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator

import pytest
from prometheus_client import CollectorRegistry, Counter, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from shared.protocol.errors import ClientGoneError, OverloadedError
from shared.runtime.logging import configure_logging, request_id
from shared.runtime.metrics import MergedCollector, ServerMetrics


@pytest.fixture
def restored_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers.clear()
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.mark.usefixtures("restored_logging")
def test_a_json_line_has_time_level_logger_message_fields_and_request_id(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("info", "json")
    token = request_id.set("r-1")
    try:
        logging.getLogger("proxy.fleet.prober").info("replica left", extra={"replica": "http://a\nb"})
    finally:
        request_id.reset(token)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    line = json.loads(lines[0])
    assert line.pop("time")
    assert line == {
        "level": "INFO",
        "logger": "proxy.fleet.prober",
        "message": "replica left",
        "replica": "http://a\nb",
        "request_id": "r-1",
    }


@pytest.mark.usefixtures("restored_logging")
def test_a_json_error_carries_its_traceback_on_the_same_line(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("info", "json")
    logging.getLogger("x").error("failed", exc_info=OSError("gone"))
    line = json.loads(capsys.readouterr().err)
    assert "OSError: gone" in line["exc_info"]


@pytest.mark.usefixtures("restored_logging")
def test_a_text_line_shows_the_fields_and_none_of_them_can_forge_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("info", "text")
    logging.getLogger("x").info("request", extra={"status": 404, "path": "/a\n12:00:00 INFO x forged"})
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert "INFO x request status=404 path='/a\\n12:00:00" in lines[0]


@pytest.mark.usefixtures("restored_logging")
def test_the_level_holds_and_libraries_that_chatter_are_held_to_warnings(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("DEBUG", "json")
    logging.getLogger("httpx").info("GET http://…")
    logging.getLogger("x").debug("seen")
    configure_logging("warning", "json")
    logging.getLogger("x").info("not seen")
    assert [json.loads(line)["message"] for line in capsys.readouterr().err.splitlines()] == ["seen"]


def _value(metrics: ServerMetrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(name, labels)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (None, "ok"),
        (OverloadedError("full"), "overloaded"),
        (ClientGoneError(), "client-gone"),
        (asyncio.CancelledError(), "client-gone"),
        (ZeroDivisionError(), "internal"),
    ],
)
def test_a_request_is_counted_once_whatever_its_end(error: BaseException | None, outcome: str) -> None:
    metrics = ServerMetrics("test")
    times = iter([10.0, 10.2])

    def ask() -> None:
        with metrics.request_timer(lambda: next(times)) as measured:
            assert _value(metrics, "test_requests_in_flight") == 1
            measured.pair = "en-de"
            if error is not None:
                raise error

    if error is None:
        ask()
    else:
        with pytest.raises(type(error)):
            ask()
    assert _value(metrics, "test_requests_in_flight") == 0
    assert _value(metrics, "test_requests_total", pair="en-de", outcome=outcome) == 1
    assert _value(metrics, "test_request_seconds_sum", pair="en-de") == pytest.approx(0.2)


def test_a_request_whose_pair_was_never_found_is_counted_as_other() -> None:
    metrics = ServerMetrics("test")
    with metrics.request_timer(lambda: 0.0):
        pass
    assert _value(metrics, "test_requests_total", pair="other", outcome="ok") == 1


def test_merged_registries_show_each_metric_once_with_all_samples() -> None:
    registries: list[CollectorRegistry] = []
    for engine in ("a", "b"):
        registry = CollectorRegistry()
        Counter("tokens", f"Tokens of {engine}.", ["engine"], registry=registry).labels(engine).inc(2)
        registries.append(registry)
    merged = MergedCollector(*registries)
    for _ in range(2):  # collecting must leave no trace
        text = generate_latest(merged).decode()  # pyright: ignore[reportArgumentType] - as in shared.web
        assert text.count("# TYPE tokens_total counter") == 1
        families = {family.name: family for family in text_string_to_metric_families(text)}
        found = {
            sample.labels["engine"]: sample.value for sample in families["tokens"].samples if "_total" in sample.name
        }
        assert found == {"a": 2, "b": 2}


def test_two_apps_can_share_a_process() -> None:
    ServerMetrics("test")
    ServerMetrics("test")
