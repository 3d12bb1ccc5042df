"""Whether pods fit, and how demand is revised when they do not."""
