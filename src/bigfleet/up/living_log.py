"""A log that knows when the fleet has ended."""

from collections.abc import Mapping
from typing import Any

from bigfleet.edge.logs import Log

#: What faces show anyhow: Needs that are short.
_SHOWN = ("shortfalls",)


class LogOfTheLiving:
    """Hides what parts log about each other's end once everything ends."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self.is_over = False

    def debug(self, event: str, **facts: Any) -> None:
        self._write("debug", event, facts)

    def info(self, event: str, **facts: Any) -> None:
        self._write("info", event, facts)

    def warning(self, event: str, **facts: Any) -> None:
        self._write("warning", event, facts)

    def error(self, event: str, **facts: Any) -> None:
        self._write("error", event, facts)

    def _write(self, level: str, event: str, facts: Mapping[str, Any]) -> None:
        if event not in _SHOWN and (not self.is_over or level == "error"):
            getattr(self._log, level)(event, **facts)
