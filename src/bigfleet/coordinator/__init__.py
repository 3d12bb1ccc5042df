"""The coordinator: what no shard owns, and the repair of imbalance between shards.

A pure book of durable rows and a driver that commits what changes them. It is never needed for a
shard to keep working.
"""
