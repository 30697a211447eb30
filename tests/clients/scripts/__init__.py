"""Programs that use real clients, each run by the Python or the Node.js of its own environment (tests/clients/install.py)."""
