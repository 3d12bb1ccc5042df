"""A shard leaves for good."""
