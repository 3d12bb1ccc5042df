"""`bigfleet bench journal`: what recording costs a shard, and how soon its cycles answer."""
