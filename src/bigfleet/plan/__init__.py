"""Plan: what a shard would decide on a fleet file, cycle by cycle, without a shard."""
