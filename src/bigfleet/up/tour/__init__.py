"""The tour of `bigfleet up`: twelve beats, each of which shows one thing that really happens."""
