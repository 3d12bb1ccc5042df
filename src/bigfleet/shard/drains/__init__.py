"""Drains: how a machine leaves its cluster, the operator first and the provider last."""
