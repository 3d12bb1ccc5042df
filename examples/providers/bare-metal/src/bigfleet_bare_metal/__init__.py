"""A BigFleet provider for hosts somebody racked.

Run it with `bigfleet provider run bigfleet_bare_metal:BareMetal`.
"""

from bigfleet_bare_metal.backend import BareMetal

__all__ = ["BareMetal"]
