"""Pauses as tables: of one shard, or of a fleet with where each of them is in force."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bigfleet.cli.connections import Connection
from bigfleet.cli.request_options import named_text
from bigfleet.cli.shard_verbs.pause_words import ended_text, scope_text, until_text
from bigfleet.cli.whole_fleet import leave_partial, told_apart

if TYPE_CHECKING:
    from bigfleet.cli.shard_verbs.pause_calls import PauseAnswers
    from bigfleet.cli.tables import Page
    from bigfleet.journal.notes import PausesThen
    from bigfleet.model.pauses import Pause
    from bigfleet.model.shard_admin import PauseList

#: WHERE only of a fleet, ENDED only with --expired.
COLUMNS = ("ID", "SCOPE", "SOURCE", "OWNER", "AGE", "EXPIRES", "WHERE", "ENDED", "REASON")


@dataclass(slots=True)
class PauseWithShards:
    """One pause, and who knows of it."""

    pause: "Pause"
    coordinator: bool = False
    shards: list[str] = field(default_factory=list)

    def where_text(self, shards: int) -> str:
        """`all`, or the names of those where it is in force."""
        if self.coordinator and len(self.shards) == shards:
            return "all"
        lead = ["coordinator"] if self.coordinator else []
        return named_text([*lead, *self.shards])

    def document(self) -> dict[str, Any]:
        from bigfleet.wire.shard_views import PAUSE

        known: dict[str, Any] = PAUSE.document(self.pause)
        return {**known, "coordinator": self.coordinator, "shardIds": self.shards}


def show_pauses(connection: Connection, found: "PauseList") -> None:
    from bigfleet.cli.tables import Page, write_items
    from bigfleet.wire.shard_views import PAUSE

    if connection.json:
        write_items(map(PAUSE.document, found.pauses), connection.now, dryRun=found.dry_run)
        return
    page = Page.on_stdout(connection.color)
    _show(page, connection.now, found.pauses, ())
    if found.dry_run:
        page.say("dry-run is on: decisions are logged, nothing is started")
    page.write()


def show_recorded(connection: Connection, found: "PausesThen", *, expired: bool) -> None:
    """Of a journal, at one of its cycles."""
    from bigfleet.cli.tables import Page, when_text, write_items
    from bigfleet.wire.shard_views import PAUSE

    pauses = (*found.in_force, *(found.ended if expired else ()))
    if connection.json:
        head = {"cycle": found.cycle, "shardId": found.shard}
        write_items(map(PAUSE.document, pauses), connection.now, **head)
        return
    page = Page.on_stdout(connection.color)
    _show(page, found.at, pauses, ())
    page.say("")
    page.say(f"as of cycle {found.cycle} of {found.shard}{when_text(found.at, connection.now)}")
    page.write()


def show_fleet(connection: Connection, answers: "PauseAnswers[PauseList]") -> None:
    """Leaves with 5 where a shard gave no answer."""
    from bigfleet.cli.tables import Page, write_items

    said, failed = told_apart(answers.shards)
    known = united(answers)
    dry = [shard for shard, found in said.items() if found.dry_run]
    if connection.json:
        items = [each.document() for each in known]
        write_items(items, connection.now, dryRun=bool(dry), dryRunShardIds=dry)
    else:
        page = Page.on_stdout(connection.color)
        where = [each.where_text(len(answers.shards)) for each in known]
        _show(page, connection.now, [each.pause for each in known], where)
        if dry:
            said_where = named_text(dry)
            page.say(f"dry-run is on at {said_where}: decisions are logged, nothing is started")
        page.write()
    leave_partial(connection, answers.addresses, failed)


def united(answers: "PauseAnswers[PauseList]") -> list[PauseWithShards]:
    """The coordinator's first: shards hear of them, and have them directly too."""
    from bigfleet.model.shard_admin import PauseList

    found: dict[tuple[str, object], PauseWithShards] = {}
    if isinstance(answers.coordinator, PauseList):
        for pause in answers.coordinator.pauses:
            found[pause.pause_id, pause.scope] = PauseWithShards(pause, coordinator=True)
    said, _failed = told_apart(answers.shards)
    for shard, listed in said.items():
        for pause in listed.pauses:
            known = found.setdefault((pause.pause_id, pause.scope), PauseWithShards(pause))
            if shard not in known.shards:
                known.shards.append(shard)
    return list(found.values())


def _show(page: "Page", now: int, pauses: "Iterable[Pause]", where: Iterable[str]) -> None:
    from bigfleet.cli.tables import cell, since_text, table_of

    places, known = list(where), list(pauses)
    *columns, where_column, ended_column, sentence = COLUMNS
    shown = [*columns, where_column] if places else columns
    with_ends = any(each.ended_at is not None for each in known)
    shown = [*shown, ended_column] if with_ends else shown
    table = table_of(*shown, sentence=sentence, kind="pause")
    for number, each in enumerate(known):
        table.add_row(
            cell(each.pause_id),
            cell(scope_text(each.scope)),
            cell(each.source.name.lower()),
            cell(each.who),
            cell(since_text(each.created_at, now)),
            cell(until_text(each)),
            *([cell(places[number])] if places else []),
            *([cell(ended_text(each))] if with_ends else []),
            cell(each.reason),
        )
    page.show_or_say(table, "Nothing is paused.")
