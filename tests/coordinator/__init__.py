"""What the coordinator decides: members, owners, instructions, transfers, and what survives."""
