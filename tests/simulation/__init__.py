"""Scenarios in virtual time: what is read, what happens, what is judged."""
