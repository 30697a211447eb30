"""The API server: hosts language models in vLLM async engines and awaits them directly."""
