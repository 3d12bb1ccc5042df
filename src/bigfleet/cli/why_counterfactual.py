"""`bigfleet why need/CLUSTER/ID --counterfactual`: the smallest changes that would satisfy a Need.

The same answer from a live shard, a journal and a fleet file.
"""

import shlex
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from bigfleet.cli.connections import Clients, Connection
from bigfleet.cli.request_options import EXIT_PARTIAL
from bigfleet.cli.sources import Source
from bigfleet.cli.terminal import plain, refuse

if TYPE_CHECKING:
    from bigfleet.cli.tables import Page, Table
    from bigfleet.model.counterfactuals import (
        CounterfactualAnswer,
        CounterfactualCall,
        ToldChange,
    )
    from bigfleet.model.explanations import NeedExplanation
    from bigfleet.model.forecasts import Forecast

COLUMNS = ("#", "CHANGE", "SATISFIES", "$/H", "DECLARED", "LOSES")
#: Needs that lose, in one row.
_MOST_LOSERS = 3
_MOST_MILLISECONDS = 2**31 - 1


class Wanted(NamedTuple):
    """What the flags say."""

    #: Seconds; None: not said.
    budget: float | None = None
    depth: int = 1
    tried: bool = False

    @property
    def said(self) -> list[str]:
        flags = {"--budget": self.budget is not None, "--depth": self.depth > 1}
        return [flag for flag, is_said in {**flags, "--tried": self.tried}.items() if is_said]


def print_counterfactual(connection: Connection, source: Source, name: str, wanted: Wanted) -> None:
    """Leaves with 3 where no shard, or not this cycle, knows the Need; with 5 where the budget
    ended before everything was tried."""
    if wanted.budget is not None and wanted.budget <= 0:
        raise refuse(["--budget: how long may it take? write more than 0, such as 5s"])
    cluster, _, prefix = name.rpartition("/")
    if source.is_live:
        told, answer, more = _live(connection, source, cluster, prefix, wanted)
    else:
        told, answer = _read(source, cluster, prefix, wanted)
        more = {}
    write(connection, source, told, answer, more)
    if not answer.exhaustive:
        click.echo(plain(_ended_early(answer)), err=True)
        raise click.exceptions.Exit(EXIT_PARTIAL)


def _call(cluster: str, prefix: str, wanted: Wanted, cycle: int = 0) -> "CounterfactualCall":
    from bigfleet.model.counterfactuals import CounterfactualCall
    from bigfleet.model.needs import NeedKey

    most = _MOST_MILLISECONDS
    budget = 0 if wanted.budget is None else max(1, round(min(wanted.budget * 1000, most)))
    depth = min(wanted.depth, most)
    return CounterfactualCall(NeedKey(cluster, "", ""), cycle, budget, depth, prefix, wanted.tried)


def _live(
    connection: Connection, source: Source, cluster: str, prefix: str, wanted: Wanted
) -> "tuple[NeedExplanation, CounterfactualAnswer, dict[str, Any]]":
    """The shard that has the Need is looked for first: the search is for one process at a time."""
    from bigfleet.cli.whole_fleet import ask_fleet
    from bigfleet.cli.why_need import live_need
    from bigfleet.wire.shard_admin import WHAT_IF_DEADLINE

    found = live_need(connection, source, cluster, prefix, 1)
    ((shard, (told, _cycle)),) = found.said.items()
    cycle = 0 if source.at is None else told.cycle
    call = _call(told.view.need.cluster, prefix, wanted, cycle)

    async def look(shard: Clients) -> "CounterfactualAnswer":
        return await shard.admin.counterfactual(call)

    only = connection.only(found.addresses[shard])
    ((_, answer),) = ask_fleet(only, look, WHAT_IF_DEADLINE).said.items()
    return told, answer, {"shardId": shard, **found.document()}


def _read(
    source: Source, cluster: str, prefix: str, wanted: Wanted
) -> "tuple[NeedExplanation, CounterfactualAnswer]":
    import time

    from bigfleet.cli.why_need import read_need
    from bigfleet.journal.recorded_holds import rails_of
    from bigfleet.whatif.counterfactual_answers import answered

    asked = source.read()
    told = read_need(source, asked, cluster, prefix, 1)
    found = asked.found
    rails = None if found is None else rails_of(found.recorded, found.header.shard_id)
    call = _call(cluster, prefix, wanted)
    return told, answered(asked.given, call, asked.name, time.monotonic, rails)


# -- as it is printed ------------------------------------------------------------------------------


def write(
    connection: Connection,
    source: Source,
    told: "NeedExplanation",
    answer: "CounterfactualAnswer",
    more: dict[str, Any],
) -> None:
    from bigfleet.cli.tables import Page, write_json

    if connection.json:
        from bigfleet.wire.counterfactuals import ANSWER
        from bigfleet.wire.forecasts import FORECAST

        state = "" if told.state is None else told.state.label
        wait = {} if told.forecast is None else {"wait": FORECAST.document(told.forecast)}
        write_json({**ANSWER.document(answer), "state": state, **wait, **more}, connection.now)
        return
    page = Page.on_stdout(connection.color)
    fill(page, told, answer, source)
    page.write()


def fill(
    page: "Page", told: "NeedExplanation", answer: "CounterfactualAnswer", source: Source
) -> None:
    from bigfleet.cli.why_need import eta_text

    _say_state(page, told, answer)
    if answer.met:
        page.say(_nothing_to_change(told, answer, source))
        if eta := eta_text(told):
            page.say(f"ETA     {eta}")
        return
    if any(change.satisfied for change in answer.changes):
        page.say("What would satisfy it, the cheapest first; what is preempted has to drain first.")
    else:
        page.say(_nothing_helps(answer))
    table = change_table(answer, told.forecast)
    if table.row_count:
        page.show(table)
    for number, change in enumerate(answer.changes, 1):
        if change.command:
            page.say(f"do {number}:  {change.command}")
        if change.overlay:
            page.say(f"try {number}: {whatif_command(change, source)}")
    if answer.exhaustive:
        page.say(f"all was tried, in {_runs(answer.runs)} of the engine")


def _say_state(page: "Page", told: "NeedExplanation", answer: "CounterfactualAnswer") -> None:
    """One of the four states, and what holds it back."""
    from bigfleet.cli.why_need import state_word
    from bigfleet.model.need_states import NeedState
    from bigfleet.model.reasons import resources_text

    name = f"need/{answer.need.cluster}/{answer.need_id}"
    short = resources_text(answer.deficit.texts()) if answer.deficit.amounts else "nothing more"
    words = f"{state_word(told)}  {name}  priority {answer.priority}  short {short}"
    page.say(f"{words}   cycle {answer.cycle}", "bold")
    if told.state is NeedState.BLOCKED:
        page.say(f"  {told.reasons[0].code:<18} {told.reasons[0].text}")
    notes = () if told.state is NeedState.SHORT else told.notes
    for note in (*answer.notes, *notes):
        page.say(f"note    {note}")


def change_table(answer: "CounterfactualAnswer", forecast: "Forecast | None" = None) -> "Table":
    """To wait changes nothing, and comes last: the time it takes is an estimate."""
    from bigfleet.cli.tables import cell, table_of
    from bigfleet.model.reasons import resources_text

    numbers = ("#", "$/H", "DECLARED")
    table = table_of(*COLUMNS[:-1], sentence=COLUMNS[-1], numbers=numbers)
    for number, each in enumerate(answer.changes, 1):
        satisfies = "by preemption" if each.preempts else "yes"
        if not each.satisfied:
            satisfies = f"no, short {resources_text(each.new_deficit.texts())}"
        table.add_row(
            cell(number),
            cell(each.change if each.smallest else f"{each.change}; less may do"),
            cell(satisfies),
            cell(_change_text(each.delta_hourly_cost), sort=each.delta_hourly_cost),
            cell(_declared_text(each), sort=each.declared_penalties),
            cell(_losers_text(each)),
            name=" ".join(each.kinds),
        )
    if forecast is not None and forecast.is_timed:
        nothing = (cell("+$0.00", sort=0.0), cell("$0.00", sort=0.0), cell("no other Need"))
        table.add_row(cell("-"), cell("wait (ETA)"), cell(forecast.text), *nothing, name="wait")
    return table


def _change_text(dollars: float) -> str:
    from bigfleet.model.reasons import dollars_text

    rounded = round(dollars, 4)
    return f"{'-' if rounded < 0 else '+'}{dollars_text(abs(rounded))}"


def _declared_text(change: "ToldChange") -> str:
    from bigfleet.model.reasons import dollars_text

    said = dollars_text(round(change.declared_penalties, 2))
    pinned = change.pinned_victims
    return f"{said} and {pinned} pinned" if pinned > 0 else said


def _losers_text(change: "ToldChange") -> str:
    from bigfleet.model.reasons import resources_text

    named = [
        f"need/{each.need.cluster}/{each.need.need_id} {resources_text(each.lost.texts())}"
        for each in change.losers[:_MOST_LOSERS]
    ]
    rest = change.loser_count - len(named)
    if rest > 0:
        named.append(f"{rest} more Needs" if rest > 1 else "1 more Need")
    return "; ".join(named) or "no other Need"


def whatif_command(change: "ToldChange", source: Source) -> str:
    """`bigfleet whatif` with the same source and the edits that make the change."""
    words = ["bigfleet", "whatif"]
    if source.fleet is not None:
        words += ["--fleet", source.fleet]
    if source.journal is not None:
        words += ["--journal", str(source.journal)]
    if source.at is not None:
        epoch, number = source.at
        words += ["--at", str(number) if epoch is None else f"{epoch}:{number}"]
    for edit in change.overlay:
        operation, _, said = edit.partition(" ")
        words += [f"--{operation}", said]
    return shlex.join(words)


def _nothing_to_change(
    told: "NeedExplanation", answer: "CounterfactualAnswer", source: Source
) -> str:
    from bigfleet.model.need_states import NeedState

    covers = f"Cycle {answer.cycle} covers it"
    if told.state is NeedState.BLOCKED:
        return f"{covers}: what holds it back is neither a pause nor a rail, and is told above."
    held = "" if source.fleet is not None else ", and neither a pause nor a rail holds that back"
    return f"{covers}{held}: there is nothing to change."


def _nothing_helps(answer: "CounterfactualAnswer") -> str:
    further = "; --depth 2 tries pairs of changes" if answer.depth < 2 else ""
    shown = any(not change.satisfied for change in answer.changes)
    listed = "" if shown else "; --tried shows what was tried"
    return f"No single change of those that were tried would satisfy it{further}{listed}."


def _ended_early(answer: "CounterfactualAnswer") -> str:
    seconds = answer.budget_ms / 1000
    said = f"the budget of {seconds:g} s or its runs ended after {_runs(answer.runs)} of the engine"
    return f"{said}: not everything was tried; --budget {seconds * 5:g}s gives it longer"


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"
