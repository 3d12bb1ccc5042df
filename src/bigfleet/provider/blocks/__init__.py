"""Pieces most providers need: what is sold, which slot is whose, what it costs, how risky it is."""
