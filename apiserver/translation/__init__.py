"""One text: plan, translate its segments with fallbacks, assemble."""
