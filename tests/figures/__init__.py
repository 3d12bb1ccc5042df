"""A shard in figures: how many of each sort, what they cost, how long cycles took."""
