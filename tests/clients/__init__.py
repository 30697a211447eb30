"""Real clients of other translation APIs, against a real fleet with the demo models; ``make test-clients`` runs them."""
