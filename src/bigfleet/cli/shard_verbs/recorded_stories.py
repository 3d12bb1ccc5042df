"""`bigfleet machines story ID --journal DIR`: what touched a machine, as a journal tells it."""

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from bigfleet.cli.connections import Connection
from bigfleet.cli.sources import EXIT_NOT_FOUND, Source
from bigfleet.cli.terminal import plain

if TYPE_CHECKING:
    from bigfleet.cli.sources import AskedCycle
    from bigfleet.model.shard_admin import MachineStory
    from bigfleet.model.shard_views import MachineView

_ALL = 2**31


def print_recorded(connection: Connection, source: Source, machine_id: str, limit: int) -> None:
    """Leaves with 3 where neither the cycle nor a note before it names the machine."""
    from bigfleet.cli.shard_verbs.machine_tables import present_text, show_stories, story_document
    from bigfleet.cli.tables import Page, when_text, write_json
    from bigfleet.cli.why_machine import recorded_story
    from bigfleet.explain.decided_cycle import nearest_ids

    assert source.journal is not None, "asked by those who looked"
    asked = source.read()
    told = recorded_story(source.journal, machine_id, source.at, limit or _ALL)
    machine = _view_then(asked, machine_id, told)
    if machine is None and not told.events:
        near = nearest_ids(asked.given.snapshot.ids, machine_id)
        meant = f"; nearest are {', '.join(near)}" if near else ""
        click.echo(plain(f"no machine {machine_id} in the journal{meant}"), err=True)
        raise click.exceptions.Exit(EXIT_NOT_FOUND)
    stories = {asked.shard: told}
    if connection.json:
        rest = {"shards": [asked.shard], "cycle": asked.name}
        write_json({**story_document(stories, machine), **rest}, connection.now)
        return
    page = Page.on_stdout(connection.color)
    page.say(present_text(machine_id, machine, asked.given.at), "bold")
    page.say(f"as of cycle {asked.name}{when_text(asked.given.now, connection.now)}")
    show_stories(page, stories)
    page.write()


def _view_then(asked: "AskedCycle", machine_id: str, told: "MachineStory") -> "MachineView | None":
    """In the cycle that is asked about; since when it was so as far as its story goes back."""
    from bigfleet.engine.encoding import machine_at
    from bigfleet.model.shard_views import MachineView

    snapshot = asked.given.snapshot
    row = snapshot.row_of(machine_id)
    if row < 0:
        return None
    machine = machine_at(snapshot, row).machine
    source = int(snapshot.columns.source[row])
    provider = snapshot.tables.sources.rows[source] if source >= 0 else ""
    view = MachineView(machine, provider)
    entered = [e.at for e in told.events if e.to_state is machine.state]
    return replace(view, state_since=entered[-1]) if entered else view
