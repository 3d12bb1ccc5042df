"""After a restore: the rows are older than the fleet."""
