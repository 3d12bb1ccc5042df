"""What a cluster tells its shard, and when it tells the caller."""
