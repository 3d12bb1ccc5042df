"""The queue of each shard, and what becomes of its answers."""
