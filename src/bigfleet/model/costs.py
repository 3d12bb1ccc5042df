"""What machines cost: per hour now, or added up over a time, told by an axis."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum

from bigfleet.model.figures import OTHERS, CostAxis
from bigfleet.model.machines import Instant

#: The name of a row of machines that no cluster has.
SHARED = ""
#: The name of a row of clusters that `costs.teams` does not name.
NO_TEAM = "no team"
#: Axes on which machines without a cluster stand in a row of their own.
OWNED = (CostAxis.CLUSTER, CostAxis.TEAM, CostAxis.PRIORITY, CostAxis.NEED)


class IdleShare(StrEnum):
    """Where the bill of machines that no cluster has is shown."""

    APART = "apart"
    #: Divided among those that have machines, by what they are billed.
    USE = "use"


@dataclass(frozen=True, slots=True)
class Amounts:
    """Of some machines: per hour, or added up over a time as machine-hours and dollars."""

    machines: float = 0.0
    #: Of them, those with the price 0.
    committed: float = 0.0
    #: Of these, those that `costs.imputed` gives no price.
    unvalued: float = 0.0
    billed: float = 0.0
    #: What committed machines would cost by `costs.imputed`; in no other number.
    imputed: float = 0.0
    #: Declared: probability times penalty, of Configured machines without the pinned ones.
    interruption: float = 0.0
    #: Configured machines that may be interrupted although their workload never may.
    pinned: float = 0.0
    #: The unused part, in the dimension that fills first, of machines that a Need claims.
    waste: float = 0.0
    #: Of the bill, Idle machines that may be taken.
    idle: float = 0.0
    #: Of the bill, machines that no Need claims and none may take: Failed, held, or in excess.
    stranded: float = 0.0

    def plus(self, other: "Amounts") -> "Amounts":
        return Amounts(*(mine + theirs for mine, theirs in zip(self.all, other.all, strict=True)))

    def times(self, factor: float) -> "Amounts":
        return Amounts(*(each * factor for each in self.all))

    @property
    def all(self) -> tuple[float, ...]:
        return tuple(getattr(self, name) for name in AMOUNTS)


AMOUNTS = tuple(each.name for each in fields(Amounts))


@dataclass(frozen=True, slots=True)
class CostRow:
    #: `SHARED`: machines that no cluster has; of type and zone: those without one.
    name: str
    amounts: Amounts
    #: Of the bill of machines that no cluster has, what is added here; taken from their own row.
    shared: float = 0.0

    @property
    def attributed(self) -> float:
        return self.amounts.billed + self.shared


class Severity(StrEnum):
    WARN = "warn"
    DANGER = "danger"


@dataclass(frozen=True, slots=True)
class RedFlag:
    severity: Severity
    #: Stable, such as `pinned-on-spot`.
    code: str
    #: An offering or a capacity type.
    subject: str
    #: Machines, or interruptions.
    count: int
    text: str


@dataclass(frozen=True, slots=True)
class CostPeriod:
    """Hours of the ledger that were asked for."""

    begins: Instant
    ends: Instant
    #: Of the time between, what was observed.
    observed_seconds: float
    #: Beginnings of hours in which nothing was observed, ascending; the first ones.
    unobserved: tuple[Instant, ...] = ()
    unobserved_count: int = 0
    #: Hours of which only a part was observed.
    partial_count: int = 0
    #: When the ledger begins; 0: it is empty.
    kept_since: Instant = 0


@dataclass(frozen=True, slots=True)
class Charge:
    """What an hour of some machines was billed."""

    hour: Instant
    #: `SHARED`: no cluster has them.
    cluster: str
    instance_type: str
    zone: str
    #: As its label.
    capacity_type: str
    amounts: Amounts


@dataclass(frozen=True, slots=True)
class CostCall:
    by: CostAxis = CostAxis.CLUSTER
    #: 0 and 0: the rates of the last cycle.
    begins: Instant = 0
    ends: Instant = 0
    #: With hours of the ledger: also each hour by cluster, type, zone and capacity type.
    charges: bool = False
    #: Rates of a past cycle of the epoch that runs; 0: the last one.
    cycle: int = 0


@dataclass(frozen=True, slots=True)
class CostReport:
    shard_id: str
    #: `3:18231`; empty: nothing was computed yet.
    cycle: str
    computed_at: Instant
    by: CostAxis
    #: By what is billed, most first.
    rows: tuple[CostRow, ...]
    #: Added up apart from the rows.
    total: Amounts
    flags: tuple[RedFlag, ...] = ()
    #: Why a number or a flag cannot be told.
    unknown: tuple[str, ...] = ()
    #: None: rates per hour.
    period: CostPeriod | None = None
    charges: tuple[Charge, ...] = ()


def sum_of(amounts: Iterable[Amounts]) -> Amounts:
    total = Amounts()
    for each in amounts:
        total = total.plus(each)
    return total


def by_bill(rows: Iterable[CostRow]) -> tuple[CostRow, ...]:
    """What costs most first; what has no row of its own, and what no cluster has, last."""
    last = (SHARED, OTHERS)
    return tuple(
        sorted(
            rows,
            key=lambda row: (
                row.name in last,
                -row.attributed,
                -row.amounts.machines,
                row.name,
            ),
        )
    )


def shared_by_use(rows: Sequence[CostRow]) -> tuple[CostRow, ...]:
    """The bill of machines that no cluster has, divided among those that have machines: by what
    they are billed, or by their machines where none is billed. With none that has any it stays."""
    pool = sum(row.amounts.billed for row in rows if row.name == SHARED)
    users = [row for row in rows if row.name != SHARED]
    weights = [row.amounts.billed for row in users]
    if not any(weights):
        weights = [row.amounts.machines for row in users]
    whole = sum(weights)
    if not whole:
        return tuple(rows)
    shares = iter([pool * weight / whole for weight in weights])
    return by_bill(
        replace(row, shared=-row.amounts.billed if row.name == SHARED else next(shares))
        for row in rows
    )


def merged(reports: Iterable[CostReport]) -> tuple[CostRow, ...]:
    """The rows of several shards as one: each speaks for its own machines."""
    amounts: dict[str, Amounts] = {}
    for report in reports:
        for row in report.rows:
            amounts[row.name] = amounts.get(row.name, Amounts()).plus(row.amounts)
    return by_bill(CostRow(name, each) for name, each in amounts.items())


def team_rows(rows: Iterable[CostRow], team_of_cluster: Mapping[str, str]) -> tuple[CostRow, ...]:
    """Rows of clusters as rows of teams."""
    amounts: dict[str, Amounts] = {}
    for row in rows:
        own = row.name in (SHARED, OTHERS)
        team = row.name if own else team_of_cluster.get(row.name, NO_TEAM)
        amounts[team] = amounts.get(team, Amounts()).plus(row.amounts)
    return by_bill(CostRow(name, each) for name, each in amounts.items())
