"""Reconcile: what providers list becomes what the shard believes, never the other way round.

`reading` runs in a thread and touches nothing; `reconciler` takes its result over on the loop, in
pieces, and is the only one that believes a List.
"""
