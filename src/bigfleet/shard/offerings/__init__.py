"""Offerings: what a provider has run out of is not asked for again before it had a rest."""
