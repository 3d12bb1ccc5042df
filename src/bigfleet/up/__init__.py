"""`bigfleet up`: a provider, a shard and three clusters in one process, over real gRPC."""
