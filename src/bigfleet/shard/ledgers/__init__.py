"""What a cycle left unmet, for those who ask: Needs with reasons, shortfalls with ages."""
