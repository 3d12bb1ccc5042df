"""`bigfleet up`: a provider, a coordinator, shards and three clusters in one process, over gRPC."""
