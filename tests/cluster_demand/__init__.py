"""What a cluster tells its shard, and when it says so to whoever asked."""
