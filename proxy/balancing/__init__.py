"""Which replica: statistics, outliers, circuit breakers, the pick."""
