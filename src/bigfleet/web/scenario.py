"""What the page of `up` may do with its simulated fleet; other processes have nothing of it."""

from collections.abc import Mapping
from typing import Any, Protocol


class Scenario(Protocol):
    """Each raises Rejected for what cannot be meant."""

    def document(self) -> dict[str, Any]:
        """The tour, the controls with their values and limits, the clock, what is asserted."""
        ...

    def command(self, name: str, beat: int | None = None) -> None:
        """Of the tour: next, repeat, skip, leave, play, present; `beat` from 1."""
        ...

    async def do(self, given: Mapping[str, object]) -> dict[str, Any]:
        """Begins a fault (`do`, `seconds` and its arguments), or ends a running one (`end`)."""
        ...

    def set_demand(self, cluster: str, name: str, factor: float) -> dict[str, Any]: ...
