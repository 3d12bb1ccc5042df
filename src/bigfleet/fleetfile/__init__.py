"""Fleet files: YAML, JSON and lines of JSON to and from a Fleet."""

from bigfleet.fleetfile.dumping import dump_fleet
from bigfleet.fleetfile.loading import load_fleet

__all__ = ["dump_fleet", "load_fleet"]
