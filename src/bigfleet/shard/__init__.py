"""The shard: one process, one inventory, one engine, thousands of clusters on open streams.

`state` is pure: events in, instructions out. `driver` is where the clock, the network and the disk
are. Every folder beside them is one concern of the state.
"""
