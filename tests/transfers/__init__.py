"""Machines that go from one shard to another, as each of the two sees it."""
