"""The verbs that ask a live shard, each with a table for people and JSON for programs."""
