"""Benchmark shapes, and the runner that times the engine's cycle over them."""
