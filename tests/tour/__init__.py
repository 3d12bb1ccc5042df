"""The tour of `up` and its controls."""
