"""uvicorn with limits and draining."""
