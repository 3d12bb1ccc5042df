"""Fleets drawn by Hypothesis: the engine against the oracle, and against its nine laws."""
