"""`bigfleet describe machine`."""

from dataclasses import dataclass

from bigfleet.cli.connections import Clients, Connection
from bigfleet.cli.object_names import about_machine, machine_thing
from bigfleet.cli.shard_verbs.described import Description, lifting, pauses_of
from bigfleet.cli.shard_verbs.failed_remedies import remedy_of
from bigfleet.cli.shard_verbs.machine_tables import (
    next_text,
    pending_text,
    present_text,
    story_table,
)
from bigfleet.cli.whole_fleet import ask_fleet, known_in
from bigfleet.model.instants import instant_text
from bigfleet.model.reasons import dollars_text, resources_text
from bigfleet.model.shard_admin import MachineStory, StoryCall
from bigfleet.model.shard_views import MachineView, ShardStatus

#: Events that a page shows; `bigfleet machines story` shows all.
_MOST_EVENTS = 20


@dataclass(frozen=True, slots=True)
class DescribedMachine:
    story: MachineStory
    status: ShardStatus


def describe_machine(connection: Connection, machine_id: str) -> Description:
    from bigfleet.wire.machine_views import MACHINE_VIEW
    from bigfleet.wire.shard_views import EVENT

    async def look(shard: Clients) -> DescribedMachine:
        story = await shard.admin.story(StoryCall(machine_id, limit=_MOST_EVENTS))
        return DescribedMachine(story, await shard.admin.status())

    answers = known_in(
        connection,
        ask_fleet(connection, about_machine(machine_id, look)),
        machine_thing(machine_id),
    )
    owners = {shard: told for shard, told in answers.said.items() if told.story.machine}
    view = next((told.story.machine for told in owners.values()), None)
    cluster = view.machine.cluster if view else ""
    held = pauses_of((told.status for told in owners.values()), cluster)
    stories = {shard: told.story for shard, told in answers.said.items()}
    events = [event for story in stories.values() for event in story.events]
    return Description(
        f"machine/{machine_id}",
        present_text(machine_id, view, connection.now),
        _facts(view, ", ".join(owners or answers.said), connection) if view else (),
        {
            **({"machine": MACHINE_VIEW.document(view)} if view else {}),
            "events": [EVENT.document(event) for event in events],
        },
        answers,
        [("What touched it, newest last:", story_table(stories))] if events else [],
        pauses=held,
        commands=[*_commands(machine_id, view), *lifting(held)],
    )


def _facts(view: MachineView, shard: str, connection: Connection) -> list[tuple[str, str]]:
    machine, kept, failed = view.machine, view.reservation, view.failed
    labels = ", ".join(f"{key}={value}" for key, value in sorted(machine.labels.items()))
    held = "beyond the quota" if view.withheld_by_quota else ""
    unseen = f"missing in the last {view.unseen_lists} Lists" if view.unseen_lists else ""
    return [
        ("shard", shard),
        ("state", machine.state.label),
        ("cluster", machine.cluster),
        ("serves", need_text(view)),
        ("pending", pending_text(view)),
        ("reserved for", f"need/{kept.holder.cluster}/{kept.holder.need_id}" if kept else ""),
        ("reserved until", instant_text(kept.expires_at) if kept and kept.expires_at else ""),
        ("failed", f"{failed.cause} after {failed.attempts} tries" if failed else ""),
        ("next look", next_text(failed, connection.now) if failed else ""),
        ("error", machine.last_error),
        ("given up by its cluster", view.lost),
        ("held", ", ".join(filter(None, (held, unseen)))),
        ("empty", "nothing runs on it" if view.empty else ""),
        ("price", f"{dollars_text(machine.price_per_hour)}/h"),
        ("interruptions", _probability_text(machine.interruption_probability)),
        ("capacity", resources_text(machine.effective_allocatable.texts())),
        ("provider", view.provider),
        ("host", "" if machine.host.empty else machine.host.ref),
        ("node", view.node_name),
        ("labels", labels),
    ]


def _probability_text(probability: float) -> str:
    return f"probability {probability:g} an hour" if probability else ""


def need_text(view: MachineView) -> str:
    """The Need that claims a machine, else that none does."""
    if view.claimed_by is not None:
        return f"need/{view.claimed_by.cluster}/{view.claimed_by.need_id}"
    return "no Need claims it" if view.machine.cluster else ""


def _commands(machine_id: str, view: MachineView | None) -> list[tuple[str, str]]:
    found = []
    if view is not None and (remedy := remedy_of(view, {})):
        found.append((remedy, "helps a Failed machine out"))
    if view is not None and view.claimed_by is not None:
        need = f"{view.claimed_by.cluster}/{view.claimed_by.need_id}"
        found.append((f"bigfleet describe need {need}", "why it is needed"))
    found.append((f"bigfleet machines story {machine_id}", "all that touched it"))
    return found
