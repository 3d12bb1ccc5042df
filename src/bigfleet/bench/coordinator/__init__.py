"""`bigfleet bench coordinator`: a coordinator under load, its fail-over, and a rebalance."""
