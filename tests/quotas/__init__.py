"""Slots of a provider in a region, shared out among shards."""
