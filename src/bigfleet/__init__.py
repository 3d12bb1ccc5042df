"""BigFleet: one pool of machines for hundreds of clusters, every decision explained."""

__version__ = "0.2.0"
