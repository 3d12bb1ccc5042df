"""The fleets of `up`, by the name of their size; on their own, so that help costs nothing."""

#: Machines.
SIZES = {"small": 1_200, "medium": 25_000, "large": 250_000}
#: There is room for the ports of as many shards as a fleet can have.
LAST_PORT_BASE = 65_000
