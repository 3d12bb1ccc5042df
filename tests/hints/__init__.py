"""Available capacity: what is counted, and when a cluster is told."""
