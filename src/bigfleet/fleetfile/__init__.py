"""Fleet files: YAML, JSON and lines of JSON to and from a Fleet."""

from bigfleet.fleetfile.dumping import dump_fleet, header_line, machine_line, need_line
from bigfleet.fleetfile.loading import load_fleet

__all__ = ["dump_fleet", "header_line", "load_fleet", "machine_line", "need_line"]
