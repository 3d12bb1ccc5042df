"""Explanations: why a decision is what it is, read off its records, never decided again."""
