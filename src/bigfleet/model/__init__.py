"""Records, quantities, fingerprints and reasons: the words everything else is written in."""
