"""The line to an etcd cluster: a client of the few calls the coordinator's store needs.

`client` asks, `records` is what goes in and comes out, `messages` turns one into the other's bytes.
The `_pb2` files are generated from `protos/bigfleet/wire/etcd`, a part of etcd's own definitions.
"""
