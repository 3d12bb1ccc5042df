"""Which shard serves which cluster."""
