"""Which replicas exist and how they are: discovery, probing, leader lease, Redis, overrides."""
