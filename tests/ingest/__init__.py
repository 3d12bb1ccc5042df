"""Roll-ups: what becomes demand, what is refused, what is held."""
