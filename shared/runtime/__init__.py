"""Process-level habits: settings, logging, metrics, loops, exit codes."""
