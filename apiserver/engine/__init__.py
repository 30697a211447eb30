"""The engine interface, and vLLM behind it.

- ``interface``: requests, results, and the protocol of engines.
- ``vllm_engine``: one model in one AsyncLLM of vLLM.
- ``vllm_adapters``: sampling parameters and errors between vLLM and us.
- ``tokenizer``: tokenises a text without producing control tokens.
- ``prompt_encoder``: the token ids of a whole prompt.
- ``step_metrics``: an engine's steps, and vLLM's metrics with the model's name.
"""
