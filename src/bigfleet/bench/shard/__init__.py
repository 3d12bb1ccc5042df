"""`bigfleet bench shard`: a load test of one shard with its provider and thousands of operators."""
