"""One mutant per row of the suite, in modules by area."""
