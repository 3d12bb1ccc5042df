"""Failures: what becomes of machines that failed, and of those that take too long."""
