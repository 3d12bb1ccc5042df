"""Log lines of a provider: those of every process."""

from bigfleet.edge.logs import Log, Silence

__all__ = ["Log", "Silence"]
