"""Attacks on real processes: what a tenant, a provider, a file or a disk may not do to a fleet."""
