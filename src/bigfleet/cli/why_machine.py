"""`bigfleet why machine/ID` and `why action/CYCLE.INDEX`: where a machine is, and why.

The same answer from a live shard, a journal and a fleet file. A journal that is asked about a
machine without a cycle answers about the last one that decided something about it.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bigfleet.cli.connections import Clients, Connection
from bigfleet.cli.object_names import about_machine, machine_thing, or_unknown
from bigfleet.cli.sources import EXIT_NOT_FOUND, Source, named_cycle
from bigfleet.cli.terminal import plain, refuse
from bigfleet.cli.whole_fleet import FleetAnswers, SoughtObject, ask_fleet, known_in
from bigfleet.cli.why_not import Asked, decided_from

if TYPE_CHECKING:
    from bigfleet.model.machine_answers import MachineAnswer, WhyNot
    from bigfleet.model.machines import Instant
    from bigfleet.model.needs import NeedKey
    from bigfleet.model.shard_admin import MachineStory
    from bigfleet.model.shard_views import ActionView

#: Events of its story that a page shows; `bigfleet machines story` shows all.
_MOST_EVENTS = 20


@dataclass(frozen=True, slots=True)
class Told:
    answer: "MachineAnswer"
    #: `3:18231`.
    cycle: str
    #: Of a live shard, or of a journal.
    story: "MachineStory | None" = None
    last_action: "ActionView | None" = None
    #: When the cycle was decided; None: not known.
    at: "Instant | None" = None


def print_machine(connection: Connection, source: Source, machine: str) -> None:
    """Leaves with 3 where no shard, or not this cycle, knows it."""
    from bigfleet.explain.decided_cycle import NoSuchObject
    from bigfleet.explain.machine_trace import explained_machine

    if source.is_live:
        answers = _live(connection, source, machine)
        for shard, told in answers.said.items():
            _write(connection, told, {"shardId": shard, **answers.document()})
        answers.leave_partial(connection)
        return
    story = None
    if source.journal is not None:
        story = recorded_story(source.journal, machine, source.at, _MOST_EVENTS)
        if source.at is None:
            source = replace(source, at=_last_cycle_about(source.journal, machine))
    cycle = decided_from(source)
    try:
        answer = explained_machine(cycle, machine)
    except NoSuchObject as problem:
        raise _unknown(str(problem)) from None
    told = Told(answer, cycle.name, story, at=cycle.given.now)
    _write(connection, told, {})


def print_action(connection: Connection, source: Source, name: str) -> None:
    """`18231.4`, or `3:18231.4`; of a fleet file the cycle is the one it has."""
    from bigfleet.explain.decided_cycle import NoSuchObject
    from bigfleet.explain.machine_trace import explained_action

    at, index = action_place(name)
    if source.is_live:
        answers = _live_action(connection, at, index)
        for shard, told in answers.said.items():
            _write(connection, told, {"shardId": shard, **answers.document()})
        answers.leave_partial(connection)
        return
    if source.journal is not None:
        source = replace(source, at=at)
    cycle = decided_from(source)
    try:
        answer = explained_action(cycle, index)
    except NoSuchObject as problem:
        raise _unknown(str(problem)) from None
    _write(connection, Told(answer, cycle.name, at=cycle.given.now), {})


def action_place(name: str) -> tuple[tuple[int | None, int], int]:
    """The cycle, with its epoch where it is said, and the place in it."""
    cycle, dot, index = name.rpartition(".")
    epoch, colon, number = cycle.rpartition(":")
    if not (dot and index.isdecimal() and number.isdecimal()) or (colon and not epoch.isdecimal()):
        raise click.UsageError(f"action/{name}: write action/CYCLE.INDEX, such as action/18231.4")
    return (int(epoch) if colon else None, int(number)), int(index)


def _unknown(text: str) -> click.exceptions.Exit:
    click.echo(plain(text), err=True)
    return click.exceptions.Exit(EXIT_NOT_FOUND)


# -- a journal -------------------------------------------------------------------------------------


def _last_cycle_about(journal: Path, machine: str) -> tuple[int, int] | None:
    """The last recorded cycle that decided something about the machine; None: none did."""
    from bigfleet.journal.notes import last_decided
    from bigfleet.journal.segments import UnreadableJournal, segments_of

    try:
        found = last_decided(segments_of(journal), machine)
    except UnreadableJournal as problem:
        raise refuse([str(problem)]) from None
    if found is not None:
        said = f"cycle {found[0]}:{found[1]} is the last that decided about {machine}"
        click.echo(plain(f"{said}; --at asks about another"), err=True)
    return found


def recorded_story(
    journal: Path, machine: str, at: tuple[int | None, int] | None, most: int
) -> "MachineStory":
    """The newest so many events up to the cycle; without one up to the end."""
    from bigfleet.journal.history import LATEST
    from bigfleet.journal.notes import story_of
    from bigfleet.journal.segments import UnreadableJournal, segments_of
    from bigfleet.model.shard_admin import MachineStory

    try:
        segments = segments_of(journal)
        found = story_of(segments, machine, named_cycle(at, segments, LATEST), most)
    except UnreadableJournal as problem:
        raise refuse([str(problem)]) from None
    return MachineStory(None, found.events, found.truncated)


# -- a live shard ----------------------------------------------------------------------------------


async def asked_cycle(shard: Clients, at: tuple[int | None, int] | None) -> tuple[int, int]:
    """Epoch of the shard and the cycle; raises Rejected where another epoch is meant."""
    from bigfleet.model.provider_calls import Code, Rejected

    status = await shard.admin.status()
    epoch = status.epoch
    if at is None:
        return epoch, 0
    if at[0] not in (None, epoch):
        text = f"the shard is in epoch {epoch}; --journal DIR asks about cycles of epoch {at[0]}"
        raise Rejected(Code.OUT_OF_RANGE, text)
    if at[1] > status.cycle:
        text = f"no cycle {epoch}:{at[1]} yet; the last is {epoch}:{status.cycle}"
        raise Rejected(Code.OUT_OF_RANGE, text)
    return epoch, at[1]


def _live(connection: Connection, source: Source, machine: str) -> "FleetAnswers[Told]":
    from bigfleet.model.machine_answers import DecisionQuery, MachineCall
    from bigfleet.model.shard_admin import StoryCall

    async def look(shard: Clients) -> Told:
        epoch, cycle = await asked_cycle(shard, source.at)
        answer = await shard.admin.explain_machine(MachineCall(machine, cycle))
        story = await shard.admin.story(StoryCall(machine, limit=_MOST_EVENTS))
        lately = await shard.admin.decisions(DecisionQuery(machine=machine, limit=1))
        last = lately.decisions[-1] if lately.decisions else None
        return Told(answer, f"{epoch}:{answer.cycle}", story, last)

    asked = ask_fleet(connection, about_machine(machine, look))
    return known_in(connection, asked, machine_thing(machine))


def _live_action(
    connection: Connection, at: tuple[int | None, int], index: int
) -> "FleetAnswers[Told]":
    from bigfleet.model.machine_answers import CycleCall, MachineCall
    from bigfleet.model.provider_calls import Code, Rejected

    async def look(shard: Clients) -> Told:
        epoch, cycle = await asked_cycle(shard, at)
        found = await shard.admin.cycle(CycleCall(cycle, 1, index))
        if not found.actions:
            text = f"cycle {cycle} decided {found.total_actions} actions, counted from 0"
            raise Rejected(Code.NOT_FOUND, text)
        answer = await shard.admin.explain_machine(MachineCall(found.actions[0].machine, cycle))
        return Told(answer, f"{epoch}:{answer.cycle}")

    async def none_near(shard: Clients) -> tuple[str, ...]:
        return ()

    asked = ask_fleet(connection, or_unknown(look, none_near))
    name = f"{at[1]}.{index}"
    hint = "bigfleet why machine/ID names the last action about a machine"
    return known_in(connection, asked, SoughtObject("action", name, hint))


def live_why_not(
    connection: Connection, source: Source, asked: Asked
) -> "tuple[WhyNot, str, FleetAnswers[Any]]":
    """The answer of the shard that knows the machine, its cycle, and which shards said nothing."""
    from bigfleet.model.machine_answers import WhyNotCall, WhyNotQuestion

    need: NeedKey | None = None
    question = WhyNotQuestion.REMOVED
    if asked.need:
        from bigfleet.cli.shard_verbs.described_need import named_need

        rows = named_need(connection, asked.cluster, asked.need)
        (shard_id,) = rows.said
        need = rows.said[shard_id][0].view.need.key
        connection = connection.only(rows.addresses[shard_id])
        question = WhyNotQuestion.ASSIGNED if asked.machine else WhyNotQuestion.SATISFIED

    async def look(shard: Clients) -> "tuple[WhyNot, str]":
        epoch, cycle = await asked_cycle(shard, source.at)
        answer = await shard.admin.why_not(WhyNotCall(question, asked.machine, need, cycle))
        return answer, f"{epoch}:{answer.cycle}"

    thing = machine_thing(asked.machine) if asked.machine else SoughtObject("need", asked.need, "")
    found = known_in(connection, ask_fleet(connection, about_machine(asked.machine, look)), thing)
    answer, cycle = next(iter(found.said.values()))
    return answer, cycle, found


# -- as it is printed ------------------------------------------------------------------------------


def machine_document(told: Told) -> dict[str, Any]:
    from bigfleet.wire.machine_answers import MACHINE_ANSWER
    from bigfleet.wire.shard_views import EVENT

    document = {**MACHINE_ANSWER.document(told.answer), "cycle": told.cycle}
    if told.story is not None:
        document["events"] = [EVENT.document(event) for event in told.story.events]
    return document


def _write(connection: Connection, told: Told, more: dict[str, Any]) -> None:
    from bigfleet.cli.shard_verbs.machine_tables import story_table
    from bigfleet.cli.tables import Page, cell, table_of, when_text, write_json

    if connection.json:
        write_json({**machine_document(told), **more}, connection.now)
        return
    page = Page.on_stdout(connection.color)
    when = when_text(told.at, connection.now)
    page.say(f"{told.answer.sentence}   (cycle {told.cycle}{when})", "bold")
    table = table_of("ABOUT", sentence="WHAT")
    for step in told.answer.steps:
        table.add_row(cell(step.phase), cell(step.text))
    page.show(table)
    last = told.last_action
    if last is not None and not told.answer.actions:
        page.say("")
        page.say(f"last decided about it: {last.kind.label} in cycle {last.cycle}: {last.reason}")
        page.say(f"  bigfleet why action/{last.cycle}.{last.index}")
    if told.story is not None and told.story.events:
        page.say("")
        page.say("What touched it, newest last:")
        shard = more.get("shardId", "")
        page.show(story_table({shard: told.story}), apart=False, aside=True)
    page.write()
