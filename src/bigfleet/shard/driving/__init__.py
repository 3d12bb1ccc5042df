"""Where the shard meets the world: tasks that turn it into events, and instructions into calls."""
