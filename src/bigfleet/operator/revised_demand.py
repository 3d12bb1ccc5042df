"""The demand that is sent to the shard: own rows with overhead in their units, then margins.

Own rows are the book's; how they are revised `bigfleet.placement` decides. Here it is decided when
placement is asked and told, so that what is not in play costs nothing.

After a start the margins of the process before this one are known to the shard alone. So nothing is
sent before its first reply, or before `first_reply` has passed, or the shard has said that it takes
no reports: a roll-up without the margins would withdraw them, and their machines would be excess.
"""

from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Self

from bigfleet.model.cluster_reports import MOST_NAMED_NEEDS, ClusterReportReply, StuckNeed
from bigfleet.model.machines import Instant
from bigfleet.model.needs import Need, NeedKey
from bigfleet.model.options import SECOND
from bigfleet.model.resources import Resources
from bigfleet.operator.rollup import DemandBook
from bigfleet.operator.settings import OperatorSettings
from bigfleet.placement.admission import AdmissionRefusal, Admissions
from bigfleet.placement.margin_notes import MarginFigures, MarginNote
from bigfleet.placement.margins import Margins
from bigfleet.placement.occupancy import Occupancy
from bigfleet.placement.overhead import MachineKind, Overheads, ShapeSplit, min_unit, split_of
from bigfleet.placement.subjects import MarginSettings
from bigfleet.wire.rollups import need_row, rollup_of_rows

#: Overhead is looked at when Nodes change, and so often for what else may change it.
_LOOK_EVERY = 10 * SECOND
_MOST_UNITS = 10_000
#: Roll-ups between two replies, and a few more: a reply is about one of them.
_MOST_UNTOLD = 32


class OverheadUnits:
    """`Units` of a book: the largest pod with the overhead of the machines that take it."""

    def __init__(self, overheads: Overheads) -> None:
        self._overheads = overheads
        self._kinds: list[MachineKind] = []
        self._otherwise = Resources()
        self._known: dict[Resources, Resources] = {}

    def look(self) -> None:
        self._kinds, self._otherwise = self._overheads.kinds(), self._overheads.of_cluster()
        self._known.clear()

    def unit_of(self, largest: Resources) -> Resources:
        if not self._kinds:
            return largest
        unit = self._known.get(largest)
        if unit is None:
            if len(self._known) >= _MOST_UNITS:
                self._known.clear()
            unit = self._known[largest] = min_unit(largest, self._kinds, self._otherwise)
        return unit

    def is_taken(self, largest: Resources) -> bool:
        return not self._kinds or any(kind.takes(largest) for kind in self._kinds)

    def split_of(self, shapes: Sequence[Resources]) -> ShapeSplit | None:
        return split_of(shapes, self._kinds)


@dataclass(frozen=True, slots=True)
class RevisionSettings:
    margins: MarginSettings = MarginSettings()
    first_reply: Instant = 10 * SECOND

    @classmethod
    def of(cls, settings: OperatorSettings) -> Self:
        """In nanoseconds, as placement counts."""
        times = settings.revision
        margins = MarginSettings(
            stuck_grace=round(settings.stuck_grace * SECOND),
            judged_after=round(times.judged_after * SECOND),
            probe_first=round(times.probe_first * SECOND),
            probe_longest=round(times.probe_longest * SECOND),
            probe_timeout=round(times.probe_timeout * SECOND),
            empty_for=round(times.empty_for * SECOND),
            event_every=round(times.event_every * SECOND),
        )
        return cls(margins, round(times.first_reply * SECOND))


class RevisedDemand:
    """What the line to the shard sends; see `bigfleet.operator.driving.line.Demand`."""

    def __init__(
        self,
        book: DemandBook,
        units: OverheadUnits,
        overheads: Overheads,
        occupancy: Occupancy,
        admissions: Admissions,
        is_trustworthy: Callable[[Instant], bool],
        settings: RevisionSettings = RevisionSettings(),  # noqa: B008  frozen
    ) -> None:
        """`is_trustworthy`: whether all requests are known, and none of it old."""
        self._book = book
        self._units = units
        self._overheads = overheads
        self._occupancy = occupancy
        self._admissions = admissions
        self._is_trustworthy = is_trustworthy
        self._settings = settings
        self.restart()

    def restart(self) -> None:
        """This process leads anew: what it knew of margins may be another one's past."""
        self._margins = Margins(
            self._book.cluster,
            self._occupancy,
            self._admissions,
            self._overheads,
            self._settings.margins,
        )
        #: Raised by every change that is not one of requests.
        self._revision = 0
        self._connected_at: Instant | None = None
        #: This session's shard was asked and did not answer.
        self._unanswered = False
        self._told_version = -1
        self._sent: tuple[Need, ...] | None = None
        #: Rows that were sent, and when, and of which the margins do not know yet.
        self._untold: deque[tuple[tuple[Need, ...], Instant]] = deque(maxlen=_MOST_UNTOLD)
        self._looked_at: Instant | None = None
        self._nodes_version = -1
        #: Rows differ for another reason than requests: they are to be sent at once.
        self.is_urgent = False

    # -- the session -----------------------------------------------------------------------------

    def on_connected(self, at: Instant) -> None:
        self._connected_at, self._unanswered = at, False

    def on_disconnected(self) -> None:
        self._connected_at = None
        self._margins.on_disconnected()

    @property
    def awaits_first_reply(self) -> bool:
        return self._sent is None and self._margins.awaits_first_reply

    def wants_first_reply(self, at: Instant) -> bool:
        """Whether a report is to be sent before any roll-up."""
        waits = self.awaits_first_reply and not self._unanswered
        return waits and self._connected_at is not None and self._is_trustworthy(at)

    def on_reply(self, reply: ClusterReportReply, at: Instant) -> list[MarginNote]:
        if self._is_trustworthy(at):
            self._tell_demand()
        while self._untold:
            self._margins.on_sent(*self._untold.popleft())
        notes = self._margins.on_reply(reply, at)
        if self._sent is None:
            self._revision += 1
        return notes

    def on_no_reply(self) -> None:
        """The shard takes no reports, or none came through: demand does not wait for it."""
        self._unanswered = True

    # -- what the line asks ----------------------------------------------------------------------

    @property
    def version(self) -> int:
        return self._book.version + self._revision

    def is_trustworthy(self, at: Instant) -> bool:
        if not self._is_trustworthy(at):
            return False
        if not self.awaits_first_reply or self._unanswered:
            return True
        since = self._connected_at
        return since is not None and at - since >= self._settings.first_reply

    def catch_up(self) -> None:
        self._book.catch_up()

    def rollup(self, at: Instant) -> bytes:
        self._look_at_overhead(at)
        own = self._book.needs()
        contents = list(self._book.rows())
        rows: list[Need] = list(own)
        if self._in_play():
            self._tell_demand()
            self._add_margins(rows, contents, at)
        self._sent = tuple(rows)
        self._untold.append((self._sent, at))
        self.is_urgent = False
        return rollup_of_rows(self._book.cluster, at, contents)

    def size(self) -> int:
        return len(self._sent or ())

    # -- revising --------------------------------------------------------------------------------

    def turn(self, at: Instant) -> tuple[MarginNote, ...]:
        """Once a second, with fresh caches, in a session; cheap while nothing is in play."""
        if not self._in_play():
            self._margins.stuck = {}
            return ()
        self._look_at_overhead(at)
        self._tell_demand()
        turn = self._margins.turn(at)
        if turn.changed:
            self._change()
        return turn.notes

    def on_refused(self, refusal: AdmissionRefusal, at: Instant) -> bool:
        """True: demand has changed and goes out at once."""
        self._tell_demand()
        changed = self._margins.on_refused(refusal, at)
        if changed:
            self._change()
        return changed

    def on_drain_admitted(self, node: str, at: Instant) -> None:
        self._margins.on_drain_admitted(node, at)

    # -- questions -------------------------------------------------------------------------------

    @property
    def figures(self) -> MarginFigures:
        return self._margins.figures

    @property
    def stuck_pods(self) -> int:
        return sum(self._margins.stuck.values())

    def stuck(self) -> tuple[StuckNeed, ...]:
        found = sorted(self._margins.stuck.items())
        return tuple(
            StuckNeed(key.fingerprint, key.group, pods) for key, pods in found[:MOST_NAMED_NEEDS]
        )

    def asks(self) -> tuple[tuple[str, str], ...]:
        """Needs the next reply must speak of; first of all the margins of all of them."""
        if self._in_play() or self.awaits_first_reply:
            self._tell_demand()
        return tuple(self._margins.asks()[:MOST_NAMED_NEEDS])

    def margin_totals(self) -> dict[str, int]:
        """By resource, over all Needs."""
        totals: dict[str, int] = {}
        for wanted in self._margins.amounts().values():
            for name, amount in wanted.amounts:
                totals[name] = totals.get(name, 0) + amount
        return totals

    def sizes(self) -> dict[str, int]:
        return {f"margins.{name}": size for name, size in self._margins.sizes().items()}

    # -- within ----------------------------------------------------------------------------------

    def _in_play(self) -> bool:
        """Whether there is a margin, or a pod that waits."""
        return bool(self._margins.amounts()) or bool(self._occupancy.needs_that_wait())

    def _change(self) -> None:
        self._revision += 1
        self.is_urgent = True

    def _tell_demand(self) -> None:
        version = self._book.version
        if version != self._told_version:
            self._told_version = version
            self._margins.on_demand(self._book.needs())

    def _add_margins(self, rows: list[Need], contents: list[bytes], at: Instant) -> None:
        margins: Collection[NeedKey] = self._margins.amounts().keys()
        for place, need in enumerate(rows) if margins else ():
            if need.key in margins:
                beyond = self._margins.in_own_row(need.key, at)
                if beyond.amounts:
                    rows[place] = _with(need, beyond)
                    contents[place] = need_row(rows[place])
        for row in self._margins.margin_rows(at):
            rows.append(row)
            contents.append(need_row(row))

    def _look_at_overhead(self, at: Instant) -> None:
        nodes = self._occupancy.nodes_version
        due = self._looked_at is None or at - self._looked_at >= _LOOK_EVERY
        if not due and nodes == self._nodes_version:
            return
        self._looked_at, self._nodes_version = at, nodes
        if self._overheads.look(self._occupancy, at):
            self._units.look()
            self._book.on_units_changed()


def _with(need: Need, beyond: Resources) -> Need:
    return Need(
        need.cluster,
        need.profile,
        need.aggregate.plus(beyond),
        need.min_unit,
        group=need.group,
    )
