"""Verbs that ask a live coordinator, and those that prepare its store."""
