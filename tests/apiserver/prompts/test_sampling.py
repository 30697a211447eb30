"""Sampling at a retry and of alternatives differs from the first."""

from __future__ import annotations

from apiserver.prompts.sampling import Sampling, alternative_sampling, retry_sampling
from shared.protocol.translate_request import MAX_ALTERNATIVES


def test_retry_sampling_differs_and_is_reproducible() -> None:
    greedy, sampled = Sampling(stop_token_ids=(3,)), Sampling(temperature=0.7, top_p=0.6, top_k=20, seed=5)
    assert retry_sampling(greedy).temperature > 0
    assert retry_sampling(greedy).seed is not None
    assert retry_sampling(greedy).stop_token_ids == (3,)
    assert retry_sampling(sampled).temperature == 0
    assert retry_sampling(sampled) == retry_sampling(sampled)


def test_each_alternative_has_its_own_sampling() -> None:
    first = Sampling(temperature=0.7, top_p=0.6, repetition_penalty=1.05, stop_token_ids=(3,))
    each = [alternative_sampling(first, number) for number in range(MAX_ALTERNATIVES)]
    assert [sampling.temperature for sampling in each] == [0.7, 0.8, 1.0]
    assert len({sampling.seed for sampling in each}) == MAX_ALTERNATIVES
    assert all(sampling.stop_token_ids == (3,) and sampling.repetition_penalty == 1.05 for sampling in each)
