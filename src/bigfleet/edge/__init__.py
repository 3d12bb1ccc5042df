"""What every process needs at its edge: a clock, HTTP pages, a log. Nothing of the domain."""
