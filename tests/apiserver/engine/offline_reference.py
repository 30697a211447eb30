"""vLLM's own offline answers: reads {"model", "prompts": [[id]], "max_tokens": [n]} from stdin, writes the answers' ids.

Run as a program of its own, because a second engine in the test's process would be heavy.
"""

from __future__ import annotations

import json
import sys
from typing import Any


def main() -> None:
    from vllm import LLM, SamplingParams, TokensPrompt  # noqa: PLC0415 - EngineCore must not import it twice

    asked = json.load(sys.stdin)
    llm: Any = LLM(  # its types hold unknown ones
        model=asked["model"],
        dtype="float32",
        max_model_len=512,
        max_num_seqs=64,
        kv_cache_memory_bytes=67_108_864,
        enforce_eager=True,
        generation_config="vllm",
    )
    answers: list[list[int]] = []
    for ids, budget in zip(asked["prompts"], asked["max_tokens"], strict=True):
        parameters = SamplingParams(temperature=0, max_tokens=budget)
        outputs = llm.generate(TokensPrompt(prompt_token_ids=ids), parameters, use_tqdm=False)
        answers.append(list(outputs[0].outputs[0].token_ids))
    sys.stdout.write("\nANSWERS " + json.dumps(answers) + "\n")


if __name__ == "__main__":
    main()
