"""A shard's side of the coordinator: reports and syncs out, instructions back.

The rest of the shard does not know that this exists: it is started beside it and given what it
needs. With the coordinator gone, reports fail and are tried again; nothing in the shard changes.
"""
