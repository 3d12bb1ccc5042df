"""The plan verifier: what it lets pass, what it vetoes, and that it stands in nobody's way."""
