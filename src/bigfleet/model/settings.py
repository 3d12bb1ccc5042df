"""How a process says what may be set about it: a tree of records, each field with its meaning.

The field's type says how text is read: durations are seconds, sizes are bytes. Files, environment
and flags are read elsewhere, from these records alone.
"""

from dataclasses import field
from typing import Any, Generic, NewType, TypeVar

Seconds = NewType("Seconds", float)
Bytes = NewType("Bytes", int)

T = TypeVar("T")

RELOADABLE = "reloadable"
HELP = "help"
CHOICES = "choices"
LEAST = "least"
MOST = "most"


def setting(
    default: Any,
    help_text: str,
    *,
    reloadable: bool = False,
    choices: tuple[str, ...] = (),
    least: float = 0,
    most: float | None = None,
) -> Any:
    """`choices` bound a text, `least` and `most` a number."""
    metadata = {
        HELP: help_text,
        RELOADABLE: reloadable,
        CHOICES: choices,
        LEAST: least,
        MOST: most,
    }
    if isinstance(default, dict):
        return field(default_factory=lambda: dict(default), metadata=metadata)
    return field(default=default, metadata=metadata)


class CurrentSettings(Generic[T]):
    """The settings in force: parts that follow a reload hold this and read `now` when they act."""

    def __init__(self, settings: T) -> None:
        self._now = settings

    @property
    def now(self) -> T:
        return self._now

    def replace(self, settings: T) -> None:
        self._now = settings
