"""Our proxy against other ones, in front of the same small replica: ``make bench-proxy``."""
