"""Simulated clusters: pods, roll-ups, drains and sessions, in virtual time."""
