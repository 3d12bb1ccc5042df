"""Thrash: machines that go back and forth are found, with the shortest trace that shows it."""
