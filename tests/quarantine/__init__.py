"""Lists that lost many machines are not believed at once."""
