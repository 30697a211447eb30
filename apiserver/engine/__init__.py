"""The engine interface, and vLLM behind it.

- ``interface``: a request, its result, and what every engine can do.
- ``vllm_engine``: one model in one AsyncLLM of vLLM.
- ``vllm_adapters``: sampling parameters and errors between vLLM and us.
- ``tokenizer``: tokenises so that no control token comes out of a text.
- ``prompt_encoder``: from words to the token ids of a whole prompt.
- ``step_metrics``: an engine's steps, and vLLM's metrics of it under its own name.
"""
