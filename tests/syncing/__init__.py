"""What a shard tells the coordinator in a sync, and what it does with the rest of the answer."""
