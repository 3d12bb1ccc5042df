"""A page about one object: a sentence, its facts, tables, and the commands that help."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bigfleet.cli.connections import Connection
from bigfleet.cli.shard_verbs.describe import FACT_COLUMNS
from bigfleet.cli.shard_verbs.pause_words import scope_text, until_text
from bigfleet.cli.tables import Page, Table, cell, since_text, table_of, write_json
from bigfleet.cli.whole_fleet import FleetAnswers
from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import Instant
from bigfleet.model.pauses import Pause, PauseSource
from bigfleet.model.shard_views import MachineView, ShardStatus

#: Machines that a page lists; `bigfleet machines` shows all.
MOST_MACHINES = 20


@dataclass(frozen=True, slots=True)
class Description:
    #: `machine/od-0117`.
    name: str
    headline: str
    #: What is empty is not shown.
    facts: Sequence[tuple[str, str]]
    document: Mapping[str, Any]
    #: Which shards told it, and which gave no answer.
    answers: "FleetAnswers[Any]"
    #: What stands below the facts, each with its title.
    tables: Sequence[tuple[str, Table]] = ()
    #: Why it is as it is, in sentences.
    reasons: Sequence[str] = ()
    pauses: Sequence[Pause] = ()
    #: Commands to copy, each with what it does.
    commands: Sequence[tuple[str, str]] = field(default=())

    def write(self, connection: Connection) -> None:
        """Leaves with 5 where a shard gave no answer."""
        if connection.json:
            self._write_document(connection)
        else:
            self._write_page(connection)
        self.answers.leave_partial(connection)

    def _write_document(self, connection: Connection) -> None:
        from bigfleet.wire.shard_views import PAUSE

        write_json(
            {
                "name": self.name,
                "text": self.headline,
                **self.document,
                "reasons": list(self.reasons),
                "pauses": [PAUSE.document(each) for each in self.pauses],
                "commands": [command for command, _ in self.commands],
                "shards": sorted(self.answers.said),
                **self.answers.document(),
            },
            connection.now,
        )

    def _write_page(self, connection: Connection) -> None:
        page = Page.on_stdout(connection.color)
        page.say(self.headline, "bold")
        field_heading, value_heading = FACT_COLUMNS
        facts = table_of(field_heading, sentence=value_heading)
        for field_name, value in self.facts:
            if value:
                facts.add_row(cell(field_name), cell(value))
        facts.names = [self.name]
        page.show(facts)
        for sentence in self.reasons:
            page.say("")
            page.say(sentence)
        if self.pauses:
            page.show(_pause_table(self.pauses, connection.now), aside=True)
        for title, table in self.tables:
            page.say("")
            page.say(title, "bold")
            page.show(table, apart=False, aside=True)
        if self.commands:
            page.show(_command_table(self.commands), aside=True)
        page.write()


def _command_table(commands: Sequence[tuple[str, str]]) -> Table:
    table = table_of("COMMAND", sentence="WHAT_IT_DOES")
    for command, what in commands:
        table.add_row(cell(command), cell(what))
    return table


def _pause_table(pauses: Sequence[Pause], now: Instant) -> Table:
    table = table_of("PAUSED", "BY", "AGE", "EXPIRES", sentence="WHY")
    for each in pauses:
        table.add_row(
            cell(scope_text(each.scope), "red"),
            cell(each.who or each.source.name.lower()),
            cell(since_text(each.created_at, now)),
            cell(until_text(each)),
            cell(each.reason),
        )
    return table


def pauses_of(statuses: Iterable[ShardStatus], cluster: str | None) -> list[Pause]:
    """Pauses in force that hold actions of a cluster, each once; None: of any cluster."""
    found: dict[str, Pause] = {}
    for status in statuses:
        for pause in status.pauses:
            if cluster is None or _holds(pause, status.shard_id, cluster):
                found.setdefault(pause.pause_id, pause)
    return list(found.values())


def _holds(pause: Pause, shard_id: str, cluster: str) -> bool:
    return any(pause.scope.covers(shard_id, cluster, kind) for kind in ActionKind)


def lifting(pauses: Iterable[Pause]) -> list[tuple[str, str]]:
    """Commands that lift these pauses; one of a flag or a file is lifted where it was set."""
    return [
        (f"bigfleet resume {each.pause_id} --reason WHY", "lifts the pause")
        for each in pauses
        if each.source in (PauseSource.RPC, PauseSource.COORDINATOR)
    ]


def machine_table(views: Sequence[MachineView], at: Instant) -> Table:
    from bigfleet.cli.shard_verbs.machine_tables import pending_text, price_text

    table = table_of("ID", "STATE", "TYPE", "ZONE", "CAPACITY", "$/H", "SINCE", "PENDING")
    for view in views[:MOST_MACHINES]:
        machine = view.machine
        table.add_row(
            cell(machine.id),
            cell(machine.state.label),
            cell(machine.instance_type),
            cell(machine.zone),
            cell(machine.capacity_type.label),
            cell(price_text(view)),
            cell(since_text(view.state_since, at)),
            cell(pending_text(view)),
        )
    return table


def machines_title(views: Sequence[MachineView], what: str) -> str:
    from bigfleet.cli.tables import counted

    shown = f", the first {MOST_MACHINES} of them" if len(views) > MOST_MACHINES else ""
    return f"{counted(len(views), 'machine')} {what}{shown}:"
