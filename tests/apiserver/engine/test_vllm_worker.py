"""The worker's extension: the log-probabilities of vLLM, without ranks."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

pytestmark = [
    pytest.mark.engine,
    pytest.mark.xdist_group("engine"),
    pytest.mark.usefixtures("real"),
    pytest.mark.filterwarnings(r"ignore:.torch\.jit\.script_method. is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings(r"ignore:.torch\.distributed\.reduce_op. is deprecated:FutureWarning"),
    pytest.mark.filterwarnings(r"ignore:Unclosed context <zmq:ResourceWarning"),
]


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
