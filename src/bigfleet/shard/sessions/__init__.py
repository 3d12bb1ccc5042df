"""Sessions with operators: who is connected, and what is on its way to them."""
