"""Machines that move between shards, and what keeps them from moving back and forth."""
