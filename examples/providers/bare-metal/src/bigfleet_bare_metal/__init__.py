"""A BigFleet provider for hosts that people racked.

Run it with `bigfleet provider run bigfleet_bare_metal:BareMetal`.
"""

from bigfleet_bare_metal.backend import BareMetal

__all__ = ["BareMetal"]
