"""Machines and quota that move between shards, and everything that keeps them from moving back."""
