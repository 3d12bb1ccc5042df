"""Closed loops: decisions executed by slow machines, cycle after cycle, until all is quiet."""
