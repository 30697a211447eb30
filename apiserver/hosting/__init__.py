"""One model's life: start, canaries, stalls, restarts."""
