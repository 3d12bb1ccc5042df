"""`bigfleet provider new`: a project to start from, which passes its profiles before any edit."""
