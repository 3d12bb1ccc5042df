"""Machines as tables: many in a list, one with its story, those that are kept for somebody."""

from collections.abc import Iterable, Mapping

from bigfleet.cli.shard_verbs.failed_remedies import remedies_of
from bigfleet.cli.tables import Page, cell, counted, since_text, table_of
from bigfleet.model.instants import instant_text
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.reasons import dollars_text
from bigfleet.model.shard_admin import MachineStory
from bigfleet.model.shard_views import FailedView, MachinePage, MachineView, StoryEvent

COLUMNS = ("ID", "STATE", "CLUSTER", "TYPE", "ZONE", "CAPACITY", "$/H", "SINCE", "PENDING")
#: Only where Failed machines are asked for.
FAILED_COLUMNS = ("CAUSE", "TRIES", "NEXT")
_STYLES = {
    MachineState.FAILED: "red",
    MachineState.CONFIGURED: "green",
    MachineState.IDLE: "cyan",
    MachineState.SPECULATIVE: "dim",
}
_MOVING = "yellow"


def show_machines(page: Page, found: MachinePage, *, failed: bool) -> None:
    more = FAILED_COLUMNS if failed else ()
    sentence = "ERROR" if failed else ""
    table = table_of(*COLUMNS, *more, sentence=sentence, numbers=["$/H", "TRIES"])
    for view in found.machines:
        machine = view.machine
        row = [
            cell(machine.id),
            cell(machine.state.label, _STYLES.get(machine.state, _MOVING)),
            cell(machine.cluster),
            cell(machine.instance_type),
            cell(machine.zone),
            cell(machine.capacity_type.label),
            cell(dollars_text(machine.price_per_hour).removeprefix("$")),
            cell(since_text(view.state_since, found.computed_at)),
            cell(pending_text(view)),
        ]
        if failed:
            why = view.failed
            row += [
                cell(why.cause if why else ""),
                cell(why.attempts if why else ""),
                cell(_next_text(why, found.computed_at) if why else ""),
                cell(machine.last_error),
            ]
        table.add_row(*row)
    page.show(table)


def show_remedies(page: Page, found: MachinePage, addresses: Mapping[str, str]) -> None:
    """What brings Failed machines back, below the table of them."""
    for number, cause, remedy in remedies_of(found.machines, addresses):
        page.say("")
        page.say(f"{counted(number, 'machine')} {cause}: {remedy}")


def pending_text(view: MachineView) -> str:
    """What is under way with it: `Reclaim (evicting)`."""
    if view.drain is not None:
        return f"{view.drain.kind.label} ({view.drain.stage.name.lower()})"
    return view.pending.kind.label if view.pending is not None else ""


def _next_text(why: FailedView, now: Instant) -> str:
    if not why.automatic:
        return "never by itself"
    if why.next_attempt_at is None:
        return "when the provider says so"
    return f"in {since_text(now, why.next_attempt_at)}"


def present_text(machine_id: str, view: MachineView | None, now: Instant) -> str:
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


def show_story(page: Page, told: MachineStory) -> None:
    if not told.events:
        page.say("Nothing has touched it since the shard started.")
        return
    columns = ("TIME", "CYCLE", "SOURCE", "STATE", "CLUSTER")
    table = table_of(*columns, sentence="WHAT", numbers=["CYCLE"])
    for event in told.events:
        table.add_row(
            cell(instant_text(event.at // 1_000_000 * 1_000_000)),
            cell(event.cycle or ""),
            cell(event.source.name.lower()),
            cell(_change_text(event)),
            cell(event.cluster),
            cell(event.text),
        )
    page.show(table)
    if told.truncated:
        page.say("")
        page.say("Older events are not shown or no longer kept.")


def _change_text(event: StoryEvent) -> str:
    if event.to_state is MachineState.UNSPECIFIED:
        return ""
    if event.from_state in (MachineState.UNSPECIFIED, event.to_state):
        return event.to_state.label
    return f"{event.from_state.label} -> {event.to_state.label}"


def show_reservations(page: Page, held: Iterable[MachineView]) -> None:
    table = table_of("MACHINE", "KIND", "FOR", "STATE", "EXPIRES")
    for view in held:
        kept = view.reservation
        if kept is None:
            continue
        table.add_row(
            cell(view.machine.id),
            cell(kept.kind),
            cell(f"need/{kept.holder.cluster}/{kept.holder.need_id}"),
            cell(view.machine.state.label),
            cell(instant_text(kept.expires_at) if kept.expires_at else ""),
        )
    if table.row_count:
        page.show(table)
    else:
        page.say("No machine is reserved.")
