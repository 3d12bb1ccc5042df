"""Why not this machine: the predicate that stands in the way, by name."""
