"""What a shard tells those who watch it, made from frozen views, off the cycle's path."""
