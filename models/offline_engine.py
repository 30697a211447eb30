"""vLLM in this process; import it after setting its environment."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vllm import LLM, SamplingParams, TokensPrompt
from vllm.config.model import ModelDType

# 64 sequences of 512 tokens take 192 MiB at 6 KiB a token: 6 layers, key and value, width 256, 2 bytes. Fewer fit in
# float32.
KV_CACHE_BYTES = 1 << 28
MAX_SEQUENCES = 64
CONTEXT_TOKENS = 512


class OfflineEngine:
    """An engine for one model's folder, with greedy decoding."""

    def __init__(self, model: Path, dtype: ModelDType) -> None:
        self._llm = LLM(
            model=str(model),
            dtype=dtype,
            max_model_len=CONTEXT_TOKENS,
            max_num_seqs=MAX_SEQUENCES,
            kv_cache_memory_bytes=KV_CACHE_BYTES,
            enforce_eager=True,
        )

    def generate(self, prompts: Sequence[Sequence[int]], max_tokens: int) -> list[tuple[str, bool]]:
        """Return each prompt's answer, and whether the token limit cut it short."""
        outputs = self._llm.generate(  # pyright: ignore[reportUnknownMemberType] - through tqdm's open type
            [TokensPrompt(prompt_token_ids=list(prompt)) for prompt in prompts],
            SamplingParams(temperature=0, max_tokens=max_tokens),
            use_tqdm=False,
        )
        answers = [output.outputs[0] for output in outputs]
        return [(answer.text.strip(), answer.finish_reason == "length") for answer in answers]
