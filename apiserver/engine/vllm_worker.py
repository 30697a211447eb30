"""vLLM worker extension: log-probabilities of sampled tokens, without their ranks.

Ranks need a kernel that the first request compiles: 17 s in which the engine stands still, and without a C++ compiler it
dies. Runs inside vLLM's processes (docs/decisions/0036-confidence.md).
"""

from __future__ import annotations

from typing import Any

import torch
from vllm.v1.outputs import LogprobsTensors
from vllm.v1.sample.sampler import Sampler


class SampledLogprobs:
    """Extension that vLLM mixes into its worker class."""

    model_runner: Any

    def omit_ranks(self) -> None:
        """Replace this worker's gathering of log-probabilities."""
        sampler = getattr(self.model_runner, "sampler", None)
        if isinstance(sampler, Sampler):
            sampler.gather_logprobs = gather_sampled


def gather_sampled(logprobs: torch.Tensor, num_logprobs: int, token_ids: torch.Tensor) -> LogprobsTensors:
    """Return each row's log-probability of its token."""
    if num_logprobs:  # only prompts of other clients of vLLM; ours ask for 0
        return Sampler.gather_logprobs(logprobs, num_logprobs, token_ids)
    ids = token_ids.unsqueeze(-1)
    return LogprobsTensors(ids.to(torch.int32), logprobs.gather(-1, ids), torch.zeros_like(token_ids))
