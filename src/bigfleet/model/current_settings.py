"""The settings in force, for parts that follow a reload."""

from typing import Generic, TypeVar

T = TypeVar("T")


class CurrentSettings(Generic[T]):
    """Parts that follow a reload hold this and read `now` when they act."""

    def __init__(self, settings: T) -> None:
        self._now = settings

    @property
    def now(self) -> T:
        return self._now

    def replace(self, settings: T) -> None:
        self._now = settings
