"""Where podwatch meets the world: tasks, clocks and the API server."""
