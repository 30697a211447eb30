"""The engine interface, and vLLM behind it.

- ``interface``: requests, results, engine protocol.
- ``vllm_engine``: one model in vLLM; its sampling parameters and errors.
- ``vllm_worker``: log-probabilities inside vLLM's processes.
- ``preloaded``: engines' environment; the fork server that has imported vLLM.
- ``engine_forks``: EngineCore as a fork, seen from the API server.
- ``forked_engine``: the same, in the fork.
- ``tokenizer``: texts without control tokens.
- ``prompt_encoder``: a prompt's token ids.
- ``step_metrics``: steps and vLLM's metrics.
"""
