"""The operator's line to its shard: when it is dialled, what is sent on it, and when it ends."""
