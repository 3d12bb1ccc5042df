"""What a shard says of itself with a sync, and what it is told."""
