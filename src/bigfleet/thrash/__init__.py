"""Thrash: finds machines that go back and forth, and holds back what would go on with it."""
