"""What providers list becomes what the shard believes."""
