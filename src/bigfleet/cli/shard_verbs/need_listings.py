"""The Needs of many shards as one list: by precedence, each with the shard that answers for it.

An older shard tells what was planned and no states; its Needs stand in the same list.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bigfleet.cli.listings import Column, Listing
from bigfleet.cli.shard_verbs.needs import (
    COLUMNS,
    STYLES,
    counts_text,
    eta_notes,
    name_text,
    reason_notes,
    row_document,
)
from bigfleet.cli.tables import since_text
from bigfleet.model.cluster_reports import DemandSource
from bigfleet.model.machines import Instant
from bigfleet.model.need_states import NeedState
from bigfleet.model.reasons import resources_text
from bigfleet.model.shard_views import NeedCounts, NeedListing, NeedPage, NeedRow, NeedView


@dataclass(frozen=True, slots=True)
class ShownNeed:
    shard_id: str
    view: NeedView
    #: None: of an older shard.
    row: NeedRow | None = None

    @property
    def status(self) -> str:
        if self.row is not None:
            return self.row.state_label
        return "planned" if self.view.satisfied else "parked" if self.view.parked else "unmet"

    @property
    def name(self) -> str:
        sources = self.row.sources if self.row is not None else ()
        if not sources or sources == (DemandSource.POD,):
            return name_text(self.view)
        return f"{name_text(self.view)} ({', '.join(sources)})"

    @property
    def deficit(self) -> str:
        return "" if self.view.satisfied else resources_text(self.view.deficit.positive().texts())

    @property
    def reason(self) -> str:
        row, unmet = self.row, self.view.unmet_reason
        if row is None or (row.state is NeedState.SHORT and unmet is not None):
            return "" if self.view.satisfied or unmet is None else unmet
        return "" if row.state is NeedState.MET else row.reason.code

    def age(self, now: Instant) -> str:
        if self.row is None:
            return "" if self.view.satisfied else f"{self.view.unmet_age} cycles"
        return "" if self.row.state is NeedState.MET else since_text(self.row.since, now)

    def document(self) -> dict[str, Any]:
        from bigfleet.wire.shard_read import need_view_document

        shown = row_document(self.row) if self.row is not None else need_view_document(self.view)
        return {**shown, "shardId": self.shard_id}


@dataclass(frozen=True, slots=True)
class ShownNeeds:
    #: In the order in which they are shown, cut to the limit.
    rows: Sequence[ShownNeed]
    #: Before states and limit, and before the limit alone.
    total: int
    matching: int
    counts: NeedCounts
    #: Cycle and time of each shard's answer.
    cycles: Mapping[str, tuple[int, Instant]]
    #: Shards that tell no states.
    older: Sequence[str] = field(default=())


def needs_in(
    said: Mapping[str, NeedListing | NeedPage],
    *,
    unmet: bool,
    limit: int,
    sources: Collection[str] = (),
) -> ShownNeeds:
    rows: list[ShownNeed] = []
    total = matching = 0
    counts = NeedCounts()
    older = []
    for shard, found in said.items():
        if isinstance(found, NeedListing):
            # A shard that does not know sources leaves none out, and tells none.
            meant = [r for r in found.rows if not (sources and set(sources).isdisjoint(r.sources))]
            rows += [ShownNeed(shard, row.view, row) for row in meant]
            total, matching = total + found.counts.total + found.unjudged, matching + found.matching
            counts = _added(counts, found.counts)
        else:
            chosen = [v for v in found.needs if not (sources or (unmet and v.satisfied))]
            rows += [ShownNeed(shard, view) for view in chosen]
            total, matching = total + found.total, matching + len(chosen)
            older.append(shard)
    if len(said) > 1:
        rows.sort(key=_precedence)
    cycles = {shard: (each.cycle, each.computed_at) for shard, each in said.items()}
    shown = rows[:limit] if limit else rows
    return ShownNeeds(shown, total, matching, counts, cycles, older)


def _precedence(shown: ShownNeed) -> tuple[int, int, str]:
    need = shown.view.need
    return (-need.profile.priority, need.arrival_unix_nanos, need.cluster)


def _added(one: NeedCounts, other: NeedCounts) -> NeedCounts:
    return NeedCounts.of({state: one.count(state) + other.count(state) for state in NeedState})


def listing_of(
    found: ShownNeeds, now: Instant, *, unmet: bool, missing: Mapping[str, Any]
) -> "Listing[ShownNeed]":
    return Listing(
        columns=_columns(now),
        rows=found.rows,
        document=ShownNeed.document,
        name=lambda shown: f"need/{shown.view.need.cluster}/{shown.view.need.key.need_id}",
        head={**_head(found), **missing},
        notes=[*_notes(found, unmet=unmet), "", _count_text(found, unmet)],
    )


def _notes(found: ShownNeeds, *, unmet: bool) -> list[str]:
    """Without the blank line that stands before every note below a table."""
    rows = [shown.row for shown in found.rows if shown.row is not None]
    return [*reason_notes(rows), *(eta_notes(rows) if unmet else ())][1:]


def _columns(now: Instant) -> "list[Column[ShownNeed]]":
    values = {
        "PRIORITY": lambda shown: shown.view.need.profile.priority,
        "CLUSTER": lambda shown: shown.view.need.cluster,
        "PROFILE": lambda shown: shown.name,
        "DEMAND": lambda shown: resources_text(shown.view.need.aggregate.texts()),
        "STATUS": lambda shown: shown.status,
        "SHORT": lambda shown: shown.deficit,
        "REASON": lambda shown: shown.reason,
        "AGE": lambda shown: shown.age(now),
    }
    columns: list[Column[ShownNeed]] = [
        Column(
            name,
            values[name],
            number=name in ("PRIORITY", "AGE"),
            style=_style if name == "STATUS" else None,
        )
        for name in COLUMNS
    ]
    return [*columns, Column("SHARD", lambda shown: shown.shard_id)]


def _style(shown: ShownNeed) -> str:
    return STYLES.get(shown.status, "red" if shown.status in ("unmet", "parked") else "")


def _head(found: ShownNeeds) -> dict[str, Any]:
    states = {state.label: found.counts.count(state) for state in NeedState}
    head: dict[str, Any] = {"totalNeeds": found.total, "needStates": states}
    if len(found.cycles) == 1:
        ((cycle, at),) = found.cycles.values()
        head = {"cycle": cycle, "computedAtUnixNanos": at, **head}
    head["shards"] = [
        {"shardId": shard, "cycle": cycle, "computedAtUnixNanos": at}
        for shard, (cycle, at) in found.cycles.items()
    ]
    if len(found.older) == len(found.cycles):
        del head["needStates"]
    return head


def _count_text(found: ShownNeeds, unmet: bool) -> str:
    waiting = [shard for shard, (cycle, _) in found.cycles.items() if not cycle]
    if len(waiting) == len(found.cycles):
        return "No cycle has ended since the shard started; ask again in a moment."
    shown = len(found.rows)
    counted = f"{shown:,} of {found.total:,} needs shown"
    if unmet:
        counted = f"{shown:,} of {found.matching:,} unmet shown, {found.total:,} needs in all"
    states = "" if len(found.older) == len(found.cycles) else f" ({counts_text(found.counts)})"
    rest = "; --limit 0 shows all" if shown < found.matching else ""
    return f"{counted}{states}, {as_of_text(found.cycles)}{rest}"


def as_of_text(cycles: Mapping[str, tuple[int, Instant]]) -> str:
    """`as of cycle 7`; several shards count their cycles each for itself."""
    if len(cycles) == 1:
        ((cycle, _),) = cycles.values()
        return f"as of cycle {cycle}"
    return f"of {len(cycles)} shards"
