"""The fleets of `up`, by the name of their size; on their own, so that help costs nothing."""

#: Machines.
SIZES = {"small": 1_200, "medium": 25_000, "large": 250_000}
