"""Who belongs to the fleet and who owns what: shards, clusters, domains, providers, pauses."""
