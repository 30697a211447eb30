"""The origin's experiment, reproduced: the same model and inputs under several architectures (``python -m benchmarks.origin``)."""
