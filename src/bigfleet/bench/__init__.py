"""Benchmark shapes, and the stopwatch that runs the engine's cycle over them."""
