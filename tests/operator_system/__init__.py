"""A whole operator in this process: a fake API server, a scripted shard, time moved by hand."""
