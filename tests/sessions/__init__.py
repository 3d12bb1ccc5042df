"""Sessions with operators: order, coalescing, replay, and who is given up."""
