"""Sampling at a retry differs from the first."""

from __future__ import annotations

from apiserver.prompts.sampling import Sampling, retry_sampling


def test_retry_sampling_differs_and_is_reproducible() -> None:
    greedy, sampled = Sampling(stop_token_ids=(3,)), Sampling(temperature=0.7, top_p=0.6, top_k=20, seed=5)
    assert retry_sampling(greedy).temperature > 0
    assert retry_sampling(greedy).seed is not None
    assert retry_sampling(greedy).stop_token_ids == (3,)
    assert retry_sampling(sampled).temperature == 0
    assert retry_sampling(sampled) == retry_sampling(sampled)
