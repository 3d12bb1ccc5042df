"""A log as every process writes it: an event's code and its facts, one line each."""

from typing import Any, Protocol

#: The quietest last.
LEVELS = ("debug", "info", "warning", "error")


class Log(Protocol):
    def debug(self, event: str, **facts: Any) -> Any: ...
    def info(self, event: str, **facts: Any) -> Any: ...
    def warning(self, event: str, **facts: Any) -> Any: ...
    def error(self, event: str, **facts: Any) -> Any: ...


class NullLog:
    def info(self, event: str, **facts: Any) -> None:
        """Says nothing."""

    debug = warning = error = info
