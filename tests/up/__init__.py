"""Everything in one process, over real gRPC."""
