"""What vLLM is told and what it tells: sampling, errors, its worker."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from apiserver.engine.interface import EngineGoneError
from apiserver.engine.vllm_engine import (
    LONGEST_LOOP,
    LOOP_COUNT,
    extends_worker,
    mapped_error,
    sampling_parameters,
)
from apiserver.prompts.sampling import Sampling
from shared.protocol.errors import RETRY_AFTER_MIN, BadRequestError, OverloadedError
from tests.apiserver.conftest import REAL_ENGINE

pytestmark = [pytest.mark.xdist_group("engine"), pytest.mark.usefixtures("real"), *REAL_ENGINE]


def test_sampling_parameters_carry_every_field() -> None:
    sampling = Sampling(
        temperature=0.7,
        top_p=0.6,
        top_k=20,
        repetition_penalty=1.05,
        presence_penalty=0.5,
        frequency_penalty=0.25,
        seed=3,
        stop_token_ids=(7, 8),
    )
    parameters = sampling_parameters(sampling, 40)
    assert (parameters.temperature, parameters.top_p, parameters.top_k) == (0.7, 0.6, 20)
    assert (parameters.repetition_penalty, parameters.presence_penalty) == (1.05, 0.5)
    assert (parameters.frequency_penalty, parameters.seed, parameters.max_tokens) == (0.25, 3, 40)
    assert list(parameters.stop_token_ids) == [7, 8]
    assert parameters.repetition_detection.max_pattern_size == LONGEST_LOOP
    assert parameters.repetition_detection.min_count == LOOP_COUNT


def test_logprobs_are_of_the_sampled_token_and_only_if_wanted() -> None:
    assert sampling_parameters(Sampling(), 40).logprobs is None
    assert sampling_parameters(Sampling(), 40, True).logprobs == 0


def test_operators_extension_and_ray_keep_their_workers() -> None:
    assert extends_worker({"dtype": "bfloat16", "distributed_executor_backend": "mp"})
    assert not extends_worker({"worker_extension_cls": "theirs.Extension"})
    assert not extends_worker({"distributed_executor_backend": "ray"})


def test_dead_engine_is_engine_gone() -> None:
    from vllm.v1.engine.exceptions import EngineDeadError  # noqa: PLC0415 - only the engine's fixture may import it first

    assert isinstance(mapped_error(EngineDeadError()), EngineGoneError)


def test_full_queue_is_overloaded() -> None:
    from vllm.exceptions import QueueOverflowError  # noqa: PLC0415 - as above

    error = mapped_error(QueueOverflowError())
    assert isinstance(error, OverloadedError)
    assert error.retry_after == RETRY_AFTER_MIN


def test_client_error_is_a_bad_request() -> None:
    from vllm.exceptions import VLLMClientError  # noqa: PLC0415 - as above

    error = mapped_error(VLLMClientError("too long"))
    assert isinstance(error, BadRequestError)
    assert "too long" in error.detail


def test_other_errors_are_not_mapped() -> None:
    assert mapped_error(KeyError("x")) is None


def test_sampled_logprobs_are_those_of_the_softmax() -> None:
    import torch  # noqa: PLC0415 - only the engine's fixture may import it first

    from apiserver.engine.vllm_worker import gather_sampled  # noqa: PLC0415 - it imports vLLM

    logprobs = torch.randn(3, 50).log_softmax(-1)
    sampled = torch.tensor([4, 0, 49])
    gathered = gather_sampled(logprobs, 0, sampled)
    assert torch.equal(gathered.logprob_token_ids.flatten(), sampled.to(torch.int32))
    assert torch.equal(gathered.logprobs.flatten(), logprobs[torch.arange(3), sampled])
    assert gathered.selected_token_ranks.shape == (3,)


def test_only_vllms_own_sampler_is_changed() -> None:
    from vllm.v1.sample.sampler import Sampler  # noqa: PLC0415 - as above

    from apiserver.engine.vllm_worker import SampledLogprobs, gather_sampled  # noqa: PLC0415 - as above

    worker = SampledLogprobs()
    other = SimpleNamespace(gather_logprobs=None)
    worker.model_runner = SimpleNamespace(sampler=other)
    worker.omit_ranks()
    assert other.gather_logprobs is None
    worker.model_runner = SimpleNamespace(sampler=Sampler())
    worker.omit_ranks()
    assert worker.model_runner.sampler.gather_logprobs is gather_sampled
