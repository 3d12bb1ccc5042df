"""How the rows of a run ended, before anything is made of it."""

from dataclasses import dataclass, field
from typing import Literal

from bigfleet.conformance.rows import Capabilities, Row
from bigfleet.conformance.wirelog import Latencies

Status = Literal["passed", "failed", "skipped", "not_implemented"]


@dataclass(frozen=True, slots=True)
class RowOutcome:
    row: Row
    status: Status
    reason: str = ""
    duration_ms: float = 0.0
    #: The last calls, for a row that did not pass.
    wire_log: tuple[dict[str, object], ...] = ()
    #: A command line that shows the failure again with as few steps as were found.
    replay: str = ""
    notes: dict[str, object] = field(default_factory=dict)
    #: How many steps a generated row had.
    steps: int = 0


@dataclass(slots=True)
class Findings:
    """All outcomes of a run with what was learned about the provider on the way."""

    outcomes: list[RowOutcome] = field(default_factory=list)
    capabilities: Capabilities = field(default_factory=Capabilities)
    latencies: Latencies = field(default_factory=Latencies)
    #: Slots the rows would like, and what the provider has.
    need: int = 0
    stock: dict[str, int] = field(default_factory=dict)

    def of(self, row_id: str) -> RowOutcome:
        return next(outcome for outcome in self.outcomes if outcome.row.id == row_id)
