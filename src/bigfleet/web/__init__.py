"""The page: a fleet in a browser, over the same admin calls that the command line makes."""
