"""Roll-ups on their way into the needs table."""
