"""Slots beyond what a shard was granted are kept from its engine."""
