"""Benches: the engine on its shapes, and load tests of the processes beside their budgets."""
