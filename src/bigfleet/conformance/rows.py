"""A row: one behaviour with a frozen id, where it runs, what it needs, and how it ended.

Areas collect their rows with a decorator; the catalogue puts the areas together. Capabilities say
what a provider can do and which legal dialect it speaks; they are found out once per run.
"""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from bigfleet.conformance.contract import Cell
from bigfleet.conformance.contract import Check as ContractCheck
from bigfleet.conformance.wirelog import Latencies

if TYPE_CHECKING:
    from bigfleet.conformance.trial import Trial


#: Which report section a row belongs to.
Suite = Literal["baseline", "core", "fault", "durable", "scale", "strict"]
#: Which running provider a row is given; `own`: it boots and kills its own.
RunsOn = Literal["core", "fault", "scale", "own"]
Gate = Literal["delete", "since_revision", "create", "fault", "restart", "seed"]
Check = Callable[["Trial"], Awaitable[None]]

PHASES: dict[Suite, int] = {
    "baseline": 1,
    "core": 2,
    "fault": 4,
    "durable": 4,
    "scale": 5,
    "strict": 6,
}


@dataclass(frozen=True, slots=True)
class Row:
    id: str
    area: str
    title: str
    check: Check
    suite: Suite
    runs_on: RunsOn
    profiles: tuple[str, ...]
    #: The switch of the reference provider that must make this row fail.
    mutant: str = ""
    #: Machines it needs from the broker: Speculative ones, and ones of any kind.
    creates: int = 0
    machines: int = 0
    #: Take those of any kind from the Speculative ones while there are some.
    slots_first: bool = False
    exclusive: bool = False
    gates: tuple[Gate, ...] = ()
    #: Driven by a generated list of steps that can be shortened after a failure.
    generated: bool = False
    #: Starts a second provider, and fixed ports may clash: where it can, it runs alone.
    boots: bool = False
    #: Looks at what another row of its kind booted and left running, where there is one.
    inherits: bool = False
    #: Part of a row may take longer than a few settle times; seconds at the normal pace.
    longest: float = 120.0
    #: What of the contract it judges: answers in a state, and the order of checks.
    judges: tuple[Cell, ...] = ()
    order: tuple[ContractCheck, ...] = ()

    @property
    def phase(self) -> int:
        return PHASES[self.suite]


@dataclass(slots=True)
class Area:
    """Rows that share a heading, a suite and a provider to run on."""

    name: str
    suite: Suite = "core"
    runs_on: RunsOn = "core"
    profiles: tuple[str, ...] = ("core",)
    exclusive: bool = False
    rows: list[Row] = field(default_factory=list)

    def row(
        self,
        row_id: str,
        title: str,
        *,
        mutant: str = "",
        creates: int = 0,
        machines: int = 0,
        slots_first: bool = False,
        exclusive: bool | None = None,
        gates: tuple[Gate, ...] = (),
        also: tuple[str, ...] = (),
        runs_on: RunsOn | None = None,
        generated: bool = False,
        boots: bool = False,
        inherits: bool = False,
        longest: float = 120.0,
        judges: tuple[Cell, ...] = (),
        order: tuple[ContractCheck, ...] = (),
    ) -> Callable[[Check], Check]:
        def register(check: Check) -> Check:
            self.rows.append(
                Row(
                    id=row_id,
                    area=self.name,
                    title=title,
                    check=check,
                    suite=self.suite,
                    runs_on=runs_on or self.runs_on,
                    profiles=(*self.profiles, *also),
                    mutant=mutant,
                    creates=creates,
                    machines=machines,
                    slots_first=slots_first,
                    exclusive=self.exclusive if exclusive is None else exclusive,
                    gates=gates,
                    generated=generated,
                    boots=boots,
                    inherits=inherits,
                    longest=longest,
                    judges=judges,
                    order=order,
                )
            )
            return check

        return register

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)


CursorDialect = Literal["none", "continuation", "head-echo"]


@dataclass(slots=True)
class Capabilities:
    create: bool = False
    delete: bool = False
    since_revision: bool = False
    fault: bool = False
    spot: bool = False
    restart: bool = False
    seed: bool = False
    cursor: CursorDialect = "none"
    negative_grace: str = "unknown"
    negative_token: str = "unknown"
    #: What was seen, per capability: the reason a row is skipped for.
    evidence: dict[str, str] = field(default_factory=dict)

    def has(self, gate: Gate) -> bool:
        return bool(getattr(self, gate))

    def why_not(self, gate: Gate) -> str:
        return self.evidence.get(gate, f"the provider does not show {gate.replace('_', ' ')}")

    def flags(self) -> dict[str, bool]:
        names = ("create", "delete", "since_revision", "fault", "spot", "restart", "seed")
        return {name: bool(getattr(self, name)) for name in names}

    def dialects(self) -> dict[str, str]:
        return {
            "cursor": self.cursor,
            "negative_grace": self.negative_grace,
            "negative_token": self.negative_token,
        }


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
