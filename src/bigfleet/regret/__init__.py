"""How far a cycle's cost is from a lower bound that two linear programs give."""
