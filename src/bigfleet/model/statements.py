"""Statements: what a completed Preempt or Reclaim was declared to cost, who caused and who bore it.

Declared dollars are penalties of workloads, never billed. What is not known is None, never zero.
"""

import math
import re
from dataclasses import dataclass
from enum import IntEnum

from bigfleet.model.actions import ActionKind
from bigfleet.model.instants import instant_of, instant_text
from bigfleet.model.machines import Instant
from bigfleet.model.needs import NeedKey

_MONTH = re.compile(r"\d{4}-(0[1-9]|1[0-2])")


class NextBestKind(IntEnum):
    #: Not known.
    UNSPECIFIED = 0
    #: A machine that could not be bought when this one was taken.
    BUY = 1
    #: Another machine could have made way.
    OTHER_VICTIM = 2
    #: There was no other choice.
    NONE = 3

    @property
    def label(self) -> str:
        return "unknown" if not self else self.name.lower().replace("_", "-")


@dataclass(frozen=True, slots=True)
class NextBest:
    """What would have been done had this machine not been there."""

    kind: NextBestKind = NextBestKind.UNSPECIFIED
    #: Object name of the machine, or of the offering; empty: there is none.
    what: str = ""
    #: As a sentence.
    text: str = ""
    #: Declared dollars more than were declared; None: not known, or one of the two is pinned.
    extra_dollars: float | None = None
    #: Billed dollars per hour more, of a purchase.
    extra_dollars_per_hour: float | None = None


def statement_id(cycle: str, machine: str) -> str:
    """`1:242/bm-01`: a machine has one action a cycle."""
    return f"{cycle}/{machine}"


@dataclass(frozen=True, slots=True)
class Statement:
    """One completed Preempt or Reclaim."""

    #: As `statement_id` makes it.
    id: str
    kind: ActionKind
    machine: str
    #: Which Need lost the machine; its cluster alone where the Need is not known.
    from_need: NeedKey
    #: Which Need it was taken for; None: a Reclaim, or not known.
    to_need: NeedKey | None = None
    epoch: int = 0
    cycle: int = 0
    #: Of the action, in order of emission; -1: no recorded cycle decided it.
    index: int = -1
    from_priority: int | None = None
    to_priority: int | None = None
    #: Infinite: pinned.
    interruption_penalty: float | None = None
    reclamation_penalty: float | None = None
    decided_at: Instant = 0
    completed_at: Instant = 0
    drain_seconds: float | None = None
    price_per_hour: float | None = None
    #: Billed: what the machine cost while it drained.
    drain_value: float | None = None
    grace_seconds: int = 0
    next_best: NextBest = NextBest()
    #: Ids of the Preempts that led to this one, oldest first.
    chain: tuple[str, ...] = ()
    #: Why something is not known; empty: everything is.
    unknown: str = ""

    @property
    def declared(self) -> float | None:
        """Interruption and reclamation together; infinite: pinned, None: not known."""
        if self.interruption_penalty is None or self.reclamation_penalty is None:
            return None
        return self.interruption_penalty + self.reclamation_penalty

    @property
    def is_pinned(self) -> bool:
        return self.declared == math.inf

    @property
    def borne_by(self) -> str:
        """The cluster that lost the machine."""
        return self.from_need.cluster

    @property
    def caused_by(self) -> str:
        """The cluster the machine was taken for. A Reclaim is caused by the cluster itself, whose
        demand fell; empty: not known."""
        if self.kind is ActionKind.RECLAIM:
            return self.from_need.cluster
        return "" if self.to_need is None else self.to_need.cluster

    @property
    def month(self) -> str:
        """`2026-03`, in UTC: in which it was complete."""
        return month_of(self.completed_at)


def month_of(at: Instant) -> str:
    return instant_text(at)[:7]


def span_of_month(month: str) -> tuple[Instant, Instant] | None:
    """From its begin to that of the next one, in UTC; None: it is not a month such as 2026-03."""
    if not _MONTH.fullmatch(month):
        return None
    year, number = map(int, month.split("-"))
    following = f"{year + number // 12:04}-{number % 12 + 1:02}"
    begin, end = (instant_of(f"{each}-01T00:00:00Z") for each in (month, following))
    return None if begin is None or end is None or begin < 0 else (begin, end)


@dataclass(frozen=True, slots=True)
class InvoicePart:
    """The statements of a month between two clusters, added up."""

    month: str
    #: Empty: not known.
    caused_by: str
    borne_by: str
    #: Declared; without the pinned and the unknown ones.
    dollars: float = 0.0
    count: int = 0
    #: Of a workload that forbids it, which has no amount.
    pinned: int = 0
    #: Whose amount is not known.
    unknown: int = 0


@dataclass(frozen=True, slots=True)
class InvoiceLine:
    """A month of a cluster, or of a team."""

    month: str
    #: Empty: it is not known who caused them.
    name: str
    caused: float = 0.0
    borne: float = 0.0
    #: Of both: what it took from itself, as where its own demand fell.
    own: float = 0.0
    #: Statements that it caused or bore.
    count: int = 0
    pinned: int = 0
    unknown: int = 0

    @property
    def net(self) -> float:
        """More than nothing: it took more from others than was taken from it."""
        return self.caused - self.borne


@dataclass(frozen=True, slots=True)
class StatementGap:
    """A time of which statements may be missing."""

    at: Instant
    text: str


@dataclass(frozen=True, slots=True)
class InvoiceCall:
    #: Completed from here on, and before there; 0: without end.
    since: Instant = 0
    until: Instant = 0
    #: Statements, the newest first; 0: as many as may be asked for, -1: none.
    limit: int = 0
    #: Only those before this place of an earlier answer; 0: from the newest on.
    before: int = 0


@dataclass(frozen=True, slots=True)
class Invoices:
    """What a shard, or its journal, has."""

    parts: tuple[InvoicePart, ...]
    #: Newest first.
    statements: tuple[Statement, ...]
    #: In the range, before the limit.
    total: int = 0
    #: What to ask for next as `before`; 0: these were the last.
    next: int = 0
    gaps: tuple[StatementGap, ...] = ()
    #: From when on statements are kept one by one; 0: none is.
    kept_since: Instant = 0
    #: Cluster -> team.
    team_of_cluster: tuple[tuple[str, str], ...] = ()
    #: Why none is made; empty: they are.
    trouble: str = ""
