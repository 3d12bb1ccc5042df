"""What a cycle left unmet, as it is shown and reported."""
