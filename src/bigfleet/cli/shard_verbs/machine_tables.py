"""Machines as tables: many in a list, one with its story, those that are reserved."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bigfleet.cli.listings import Column, Listing
from bigfleet.cli.shard_verbs.failed_remedies import remedy_of
from bigfleet.cli.tables import Page, Table, cell, since_text, table_of
from bigfleet.model.instants import instant_text
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.reasons import dollars_text

if TYPE_CHECKING:
    from bigfleet.model.memory import Reservation
    from bigfleet.model.shard_admin import MachineStory
    from bigfleet.model.shard_views import FailedView, MachinePage, MachineView, StoryEvent

_STYLES = {
    MachineState.FAILED: "red",
    MachineState.CONFIGURED: "green",
    MachineState.IDLE: "cyan",
    MachineState.SPECULATIVE: "dim",
}
_MOVING = "yellow"
STORY_COLUMNS = ("TIME", "CYCLE", "SOURCE", "STATE", "CLUSTER", "SHARD", "WHAT")


@dataclass(frozen=True, slots=True)
class ShownMachine:
    shard_id: str
    view: "MachineView"
    #: When its shard answered.
    at: Instant
    #: What brings it back, where it is Failed and that was asked.
    remedy: str = ""

    def document(self) -> dict[str, Any]:
        from bigfleet.wire.machine_views import MACHINE_VIEW

        remedy = {"remedy": self.remedy} if self.remedy else {}
        return {**MACHINE_VIEW.document(self.view), "shardId": self.shard_id, **remedy}


@dataclass(frozen=True, slots=True)
class ShownMachines:
    #: By id, cut to the limit.
    rows: Sequence[ShownMachine]
    #: Before the limit.
    total: int
    #: Cycle and time of each shard's answer.
    cycles: Mapping[str, tuple[int, Instant]]


def machines_in(
    said: "Mapping[str, MachinePage]",
    limit: int = 0,
    addresses: Mapping[str, Mapping[str, str]] | None = None,
) -> ShownMachines:
    """`addresses`: of providers by name, for each shard whose Failed machines are asked for."""

    def remedy(shard: str, view: "MachineView") -> str:
        return remedy_of(view, addresses[shard]) if addresses and shard in addresses else ""

    rows = [
        ShownMachine(shard, view, page.computed_at, remedy(shard, view))
        for shard, page in said.items()
        for view in page.machines
    ]
    if len(said) > 1:
        rows.sort(key=lambda shown: shown.view.machine.id)
    total = sum(page.total for page in said.values())
    cycles = {shard: (page.cycle, page.computed_at) for shard, page in said.items()}
    return ShownMachines(rows[:limit] if limit else rows, total, cycles)


def head_of(cycles: Mapping[str, tuple[int, Instant]]) -> dict[str, Any]:
    """Of a JSON answer: when each shard gave its part."""
    head: dict[str, Any] = {}
    if len(cycles) == 1:
        ((cycle, at),) = cycles.values()
        head = {"cycle": cycle, "computedAtUnixNanos": at}
    shards = [
        {"shardId": shard, "cycle": cycle, "computedAtUnixNanos": at}
        for shard, (cycle, at) in cycles.items()
    ]
    return {**head, "shards": shards}


def machine_listing(
    found: ShownMachines, *, failed: bool, missing: Mapping[str, Any]
) -> "Listing[ShownMachine]":
    from bigfleet.cli.shard_verbs.need_listings import as_of_text

    rest = "; --limit 0 shows all" if len(found.rows) < found.total else ""
    counted = f"{len(found.rows):,} of {found.total:,} shown, {as_of_text(found.cycles)}{rest}"
    return Listing(
        columns=[*_COLUMNS, *(_FAILED_COLUMNS if failed else ())],
        rows=found.rows,
        document=ShownMachine.document,
        name=lambda shown: f"machine/{shown.view.machine.id}",
        head={**head_of(found.cycles), "total": found.total, **missing},
        notes=[counted],
    )


def pending_text(view: "MachineView") -> str:
    """What is under way with it: `Reclaim (evicting)`."""
    if view.drain is not None:
        return f"{view.drain.kind.label} ({view.drain.stage.name.lower()})"
    return view.pending.kind.label if view.pending is not None else ""


def next_text(why: "FailedView", now: Instant) -> str:
    """When the shard looks at it again by itself."""
    if not why.automatic:
        return "never by itself"
    if why.next_attempt_at is None:
        return "when the provider says so"
    return f"in {since_text(now, why.next_attempt_at)}"


def _style(shown: ShownMachine) -> str:
    return _STYLES.get(shown.view.machine.state, _MOVING)


_COLUMNS: "list[Column[ShownMachine]]" = [
    Column("ID", lambda shown: shown.view.machine.id),
    Column("STATE", lambda shown: shown.view.machine.state.label, style=_style),
    Column("CLUSTER", lambda shown: shown.view.machine.cluster),
    Column("TYPE", lambda shown: shown.view.machine.instance_type),
    Column("ZONE", lambda shown: shown.view.machine.zone),
    Column("CAPACITY", lambda shown: shown.view.machine.capacity_type.label),
    Column("$/H", lambda shown: price_text(shown.view), number=True),
    Column(
        "SINCE",
        lambda shown: since_text(shown.view.state_since, shown.at),
        sort=lambda shown: -(shown.view.state_since or shown.at),
    ),
    Column("PENDING", lambda shown: pending_text(shown.view)),
    Column("SHARD", lambda shown: shown.shard_id),
    Column("PROVIDER", lambda shown: shown.view.provider, wide=True),
    Column("NODE", lambda shown: shown.view.node_name, wide=True),
    Column("HOST", lambda shown: shown.view.machine.host.ref, wide=True),
]


def price_text(view: "MachineView") -> str:
    return dollars_text(view.machine.price_per_hour).removeprefix("$")


def _failed_fact(
    read: "Callable[[FailedView, Instant], object]",
) -> Callable[[ShownMachine], object]:
    return lambda shown: read(shown.view.failed, shown.at) if shown.view.failed else ""


#: Only where Failed machines are asked for.
_FAILED_COLUMNS: "list[Column[ShownMachine]]" = [
    Column("CAUSE", _failed_fact(lambda why, _: why.cause)),
    Column("TRIES", _failed_fact(lambda why, _: why.attempts), number=True),
    Column("NEXT", _failed_fact(lambda why, at: next_text(why, at))),
    Column("ERROR", lambda shown: shown.view.machine.last_error, sentence=True),
    Column("REMEDY", lambda shown: shown.remedy, sentence=True),
]


def present_text(machine_id: str, view: "MachineView | None", now: Instant) -> str:
    """The first line of a story: what it is now."""
    if view is None:
        return f"machine/{machine_id} is gone; this is left of it"
    machine = view.machine
    bound = f" for cluster {machine.cluster}" if machine.cluster else ""
    # Unknown for what was so when the shard started.
    lasting = f", for {since_text(view.state_since, now)}" if view.state_since else ""
    shape = " ".join(
        filter(None, (machine.capacity_type.label, machine.instance_type, machine.zone))
    )
    return (
        f"machine/{machine.id} is {machine.state.label}{bound}{lasting}; "
        f"{shape}, {dollars_text(machine.price_per_hour)}/h"
    )


def story_document(
    told: "Mapping[str, MachineStory]", machine: "MachineView | None"
) -> dict[str, Any]:
    from bigfleet.wire.machine_views import MACHINE_VIEW
    from bigfleet.wire.shard_views import EVENT

    now = {"machine": MACHINE_VIEW.document(machine)} if machine else {}
    parts = ((shard, event) for shard, story in told.items() for event in story.events)
    events = [{**EVENT.document(event), "shardId": shard} for shard, event in parts]
    events.sort(key=lambda event: event["atUnixNanos"])
    return {**now, "events": events, "truncated": any(s.truncated for s in told.values())}


def show_stories(page: Page, told: "Mapping[str, MachineStory]") -> None:
    """Of a machine that moved between shards, each of them tells its part."""
    table = story_table(told)
    if not table.row_count:
        page.say("Nothing has touched it since the shard started.")
        return
    page.show(table)
    if any(story.truncated for story in told.values()):
        page.say("")
        page.say("Older events are not shown or no longer kept.")


def machine_columns() -> list[str]:
    """Also those that only --failed shows."""
    return [column.name for column in (*_COLUMNS, *_FAILED_COLUMNS)]


def reservation_columns() -> list[str]:
    return [column.name for column in _RESERVATION_COLUMNS]


def story_table(told: "Mapping[str, MachineStory]") -> Table:
    """Oldest first; the story of a journal, under no shard's name, names none."""
    events = sorted(
        ((event.at, shard, event) for shard, story in told.items() for event in story.events),
        key=lambda part: part[:2],
    )
    *columns, sentence = STORY_COLUMNS
    with_shard = set(told) != {""}
    shown = columns if with_shard else [each for each in columns if each != "SHARD"]
    table = table_of(*shown, sentence=sentence, numbers=["CYCLE"])
    for _, shard, event in events:
        table.add_row(
            cell(instant_text(event.at // 1_000_000 * 1_000_000)),
            cell(event.cycle or ""),
            cell(event.source.name.lower()),
            cell(_change_text(event)),
            cell(event.cluster),
            *([cell(shard)] if with_shard else []),
            cell(event.text),
        )
    return table


def _change_text(event: "StoryEvent") -> str:
    if event.to_state is MachineState.UNSPECIFIED:
        return ""
    if event.from_state in (MachineState.UNSPECIFIED, event.to_state):
        return event.to_state.label
    return f"{event.from_state.label} -> {event.to_state.label}"


def reservation_listing(
    found: ShownMachines, missing: Mapping[str, Any]
) -> "Listing[ShownMachine]":
    return Listing(
        columns=_RESERVATION_COLUMNS,
        rows=[shown for shown in found.rows if shown.view.reservation],
        document=lambda shown: {**shown.document()["reservation"], "shardId": shown.shard_id},
        name=lambda shown: f"machine/{shown.view.machine.id}",
        head={**head_of(found.cycles), **missing},
        empty="No machine is reserved.",
    )


def _reserved(read: "Callable[[Reservation], object]") -> Callable[[ShownMachine], object]:
    return lambda shown: read(shown.view.reservation) if shown.view.reservation else ""


_RESERVATION_COLUMNS: "list[Column[ShownMachine]]" = [
    Column("MACHINE", lambda shown: shown.view.machine.id),
    Column("KIND", _reserved(lambda kept: kept.kind)),
    Column("FOR", _reserved(lambda kept: f"need/{kept.holder.cluster}/{kept.holder.need_id}")),
    Column("STATE", lambda shown: shown.view.machine.state.label),
    Column(
        "EXPIRES",
        _reserved(lambda kept: instant_text(kept.expires_at) if kept.expires_at else ""),
    ),
    Column("SHARD", lambda shown: shown.shard_id),
]
