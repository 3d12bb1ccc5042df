"""The four states of a Need: one truth, on every surface."""
