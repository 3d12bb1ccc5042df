"""Control planes, node actors and fleets of real processes; README.md above says how to use it."""
