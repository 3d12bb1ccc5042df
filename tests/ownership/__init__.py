"""Who owns a machine, and what a shard does with the rest."""
