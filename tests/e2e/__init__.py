"""Real control planes, operators, shards and providers on the loopback: run `make e2e`."""
