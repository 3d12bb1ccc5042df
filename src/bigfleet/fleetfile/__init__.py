"""Fleet files: YAML, JSON and lines of JSON to and from a Fleet."""

from bigfleet.fleetfile.reader import load_fleet
from bigfleet.fleetfile.writer import dump_fleet, header_line, machine_line, need_line

__all__ = ["dump_fleet", "header_line", "load_fleet", "machine_line", "need_line"]
