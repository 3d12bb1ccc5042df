"""Where the operator meets the world: tasks, clocks, the API server and the line to the shard."""
