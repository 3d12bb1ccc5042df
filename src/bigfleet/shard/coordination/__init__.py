"""A shard's half of coordination: what it owns, what it gives, what it was given."""
