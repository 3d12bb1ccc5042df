"""`bigfleet why need/CLUSTER/ID`: what a Need has, what it lacks, and what stands in its way.

The same answer from a live shard, a journal and a fleet file.
"""

from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from bigfleet.cli.connections import Clients, Connection
from bigfleet.cli.object_names import or_unknown
from bigfleet.cli.sources import EXIT_NOT_FOUND, Source, read_journal
from bigfleet.cli.terminal import plain, refuse
from bigfleet.cli.whole_fleet import FleetAnswers, SoughtObject, ask_fleet, known_in

if TYPE_CHECKING:
    from bigfleet.cli.sources import AskedCycle
    from bigfleet.cli.tables import Page, Table
    from bigfleet.model.explanations import NeedExplanation

#: Of a penalty that must never be paid.
_PINNED = "pinned"


def print_need(connection: Connection, source: Source, name: str, candidates: int) -> None:
    """Leaves with 3 where no shard, or not this cycle, knows it."""
    cluster, _, prefix = name.rpartition("/")
    if source.is_live:
        answers = live_need(connection, source, cluster, prefix, candidates)
        for shard, (told, cycle) in answers.said.items():
            one_of_several = shard if len(answers.addresses) > 1 else ""
            more = {"shardId": shard, **answers.document()}
            write(connection, told, cycle, more, one_of_several)
        answers.leave_partial(connection)
        return
    asked = source.read()
    told = read_need(source, asked, cluster, prefix, candidates)
    write(connection, told, asked.name, {})


def read_need(
    source: Source, asked: "AskedCycle", cluster: str, prefix: str, candidates: int
) -> "NeedExplanation":
    """The answer of a journal or a fleet file; leaves with 3 where it does not know the Need."""
    from dataclasses import replace

    from bigfleet.cli.why_not import decided_again
    from bigfleet.explain.decided_cycle import NoSuchObject, SeveralObjects
    from bigfleet.explain.judged_needs import judged_from_file
    from bigfleet.explain.need_trace import explain_need
    from bigfleet.journal.forecasts import forecasts_of, forecasts_of_file
    from bigfleet.journal.recorded_holds import judged_from_journal

    decided = decided_again(asked)
    try:
        row = decided.need_row(cluster, prefix)
    except SeveralObjects as problem:
        raise refuse([str(problem)]) from None
    except NoSuchObject as problem:
        click.echo(plain(str(problem)), err=True)
        raise click.exceptions.Exit(EXIT_NOT_FOUND) from None
    told = explain_need(decided, row, candidates)
    if source.journal is None or asked.found is None:
        told = replace(told, forecast=forecasts_of_file(decided).of(row))
        return judged_from_file(told, decided, row)
    with read_journal(source.journal) as segments:
        told = replace(told, forecast=forecasts_of(decided, segments, asked.found).of(row))
        return judged_from_journal(told, decided, row, segments, asked.found)


def live_need(
    connection: Connection, source: Source, cluster: str, prefix: str, candidates: int
) -> "FleetAnswers[tuple[NeedExplanation, str]]":
    """The answer of the shard that has it, with the name of its cycle."""
    from bigfleet.cli.shard_verbs.described_need import known_ids
    from bigfleet.cli.why_machine import asked_cycle
    from bigfleet.model.explanations import ExplainNeedCall
    from bigfleet.model.needs import NeedKey

    async def look(shard: Clients) -> "tuple[NeedExplanation, str]":
        epoch, cycle = await asked_cycle(shard, source.at)
        call = ExplainNeedCall(NeedKey(cluster, "", ""), cycle, candidates, prefix)
        told = await shard.admin.explain_need(call)
        return told, f"{epoch}:{told.cycle}"

    said = f"{cluster}/{prefix}" if cluster else prefix
    sought = SoughtObject("need", said, "bigfleet needs shows those there are")
    found = known_in(connection, ask_fleet(connection, or_unknown(look, known_ids)), sought)
    keys = {told.view.need.key for told, _ in found.said.values()}
    if len(keys) > 1:
        names = ", ".join(sorted(f"need/{key.cluster}/{key.need_id}" for key in keys))
        raise refuse([f"{len(keys)} needs begin with {prefix}: {names}; write more of it"])
    # Of a cluster that has just moved, two shards may know the Need: the one that decided last.
    last = max(found.said, key=lambda shard: found.said[shard][0].decided_at or 0)
    return FleetAnswers({last: found.said[last]}, found.failed, found.addresses)


def write(
    connection: Connection,
    told: "NeedExplanation",
    cycle: str,
    more: dict[str, Any],
    one_of_several: str = "",
) -> None:
    """`one_of_several`: the shard that answers, where others might help it."""
    from bigfleet.cli.tables import Page, write_json

    if connection.json:
        write_json({**need_document(told), "cycleName": cycle, **more}, connection.now)
        return
    page = Page.on_stdout(connection.color)
    fill(page, told, cycle, connection.now)
    if one_of_several and not told.view.satisfied:
        command = f"bigfleet shards shortfalls {quote(one_of_several)}"
        page.say(f"next    {command} shows why no other shard helps")
    page.write()


def need_document(told: "NeedExplanation") -> dict[str, Any]:
    """The admin message."""
    from bigfleet.wire.explanations import NEED_EXPLANATION

    return NEED_EXPLANATION.document(told)


def fill(page: "Page", told: "NeedExplanation", cycle: str, now: int) -> None:
    from bigfleet.model.need_states import NeedState

    page.say(headline(told, cycle, now), "bold")
    for reason in told.reasons:
        page.say(f"  {reason.code:<18} {reason.text}")
    if todo := _todo(told):
        page.say(f"to do   {todo}")
    page.say(f"demand  {_demand_text(told)}")
    page.say(f"supply  {_supply_text(told)}")
    if eta := eta_text(told):
        page.say(f"ETA     {eta}")
    for note in told.notes:
        page.say(f"note    {note}")
    if told.domains:
        page.say(f"domains {_domains_text(told)}")
    elif told.view.same_candidates:
        page.say(f"domains {_candidates_text(told)}")
    for each in told.competitors:
        how = "strictly higher" if each.strictly_higher else "equal, and earlier"
        holder = f"need/{each.need.cluster}/{each.need.need_id}"
        page.say(f"held    {each.machines:,} by {holder} (priority {each.priority}, {how})")
    if told.candidates:
        page.show(candidate_table(told))
    if told.domains:
        page.show(domain_table(told), aside=True)
    if told.victims:
        page.show(victim_table(told), aside=True)
    if not told.view.satisfied or told.state is NeedState.BLOCKED:
        page.say("next    --counterfactual shows the smallest changes that would satisfy it")


def headline(told: "NeedExplanation", cycle: str, now: int) -> str:
    """`SHORT  need/ml/n3f9c  priority 1000  gang train-7  short 24 gpu   cycle 3:18231, 2s ago`."""
    from bigfleet.cli.tables import when_text
    from bigfleet.model.reasons import resources_text

    view = told.view
    need = view.need
    words = [state_word(told), f"need/{need.cluster}/{told.need_id}"]
    words.append(f"priority {need.profile.priority}")
    if need.group:
        words.append(f"gang {need.group}")
    if not view.satisfied:
        words.append(f"short {resources_text(view.deficit.positive().texts())}")
    return f"{'  '.join(words)}   cycle {cycle}{when_text(told.decided_at, now)}"


def state_word(told: "NeedExplanation") -> str:
    """One of the four states; where what was recorded does not tell it, what the machines cover."""
    if told.state is not None:
        return told.state.label.upper()
    return "COVERED" if told.view.satisfied else "UNCOVERED"


def _todo(told: "NeedExplanation") -> str:
    """About the first reason; empty: the Need is met."""
    from bigfleet.model.advice import advice_on
    from bigfleet.model.need_states import NeedState

    met = told.view.satisfied if told.state is None else told.state is NeedState.MET
    advice = advice_on(told.reasons[0].code) if told.reasons and not met else None
    return advice.todo if advice else ""


def _demand_text(told: "NeedExplanation") -> str:
    """What is wanted, what each phase covered, what is left: they add up."""
    from bigfleet.model.reasons import resources_text

    parts = [resources_text(told.view.need.aggregate.positive().texts()) or "nothing"]
    for step in told.steps:
        if not step.machine_ids:
            continue
        covered = resources_text(step.covered.texts()) or "0"
        parts.append(f"{step.phase} {covered} ({step.text})")
    left = resources_text(told.view.deficit.positive().texts()) or "nothing"
    return " | ".join([*parts, f"short {left}"])


def _supply_text(told: "NeedExplanation") -> str:
    """Every machine of the shard once, by what became of it."""
    parts = [f"{told.machines:,} machines"]
    for each in told.rejects:
        parts.append(f"{each.machines:,} {_words(each.outcome.name)} ({each.code})")
    return " | ".join(parts)


def eta_text(told: "NeedExplanation") -> str:
    """When it is expected to be met; empty: it is, or nothing is forecast yet."""
    forecast = told.forecast
    if forecast is None:
        return ""
    older = f"; as of cycle {forecast.cycle}" if forecast.cycle != told.cycle else ""
    return forecast.sentence + older


def _words(name: str) -> str:
    return name.lower().replace("_", " ")


def _domains_text(told: "NeedExplanation") -> str:
    """Which one, and what decided against the next best."""
    chosen, *others = told.domains
    next_best = f" | before {others[0].domain}: {others[0].text}" if others else ""
    return f"chosen {chosen.domain}, which holds {chosen.covered:.0%} of the gang{next_best}"


def _candidates_text(told: "NeedExplanation") -> str:
    """Of a shard that does not tell what it weighed."""
    chosen = told.view.same_domain or "none"
    parts = [f"{each.domain} {each.per_mille / 10:g} %" for each in told.view.same_candidates]
    return f"chosen {chosen} | holds of the gang: {', '.join(parts)}"


def candidate_table(told: "NeedExplanation") -> "Table":
    from bigfleet.cli.tables import cell, table_of

    numbers = ("RANK", "$/H", "PROB", "PENALTY", "EXPECTED", "COST")
    table = table_of("MACHINE", "STATE", *numbers, sentence="WHY", numbers=numbers)
    for each in told.candidates:
        cost = each.cost
        table.add_row(
            cell(each.machine),
            cell(each.state.label),
            cell(each.rank or "", sort=each.rank),
            cell(_dollars(cost.price_per_hour), sort=cost.price_per_hour),
            cell(f"{cost.interruption_probability:g}"),
            cell(_dollars(cost.interruption_penalty_dollars)),
            cell(_dollars(cost.expected_interruption_per_hour)),
            cell(_dollars(cost.effective_cost_per_hour), sort=cost.effective_cost_per_hour),
            cell(": ".join(filter(None, (_words(each.outcome.name), each.text)))),
            style="bold" if each.outcome.taken else "",
        )
    return table


def domain_table(told: "NeedExplanation") -> "Table":
    from bigfleet.cli.tables import cell, table_of
    from bigfleet.model.reasons import resources_text

    numbers = ("RANK", "MACHINES", "CREDITED", "OWN", "COVERS", "OFFERED")
    columns = ("RANK", "MACHINES", "OFFERS", *numbers[2:])
    table = table_of("DOMAIN", *columns, sentence="WHY", numbers=numbers)
    for each in told.domains:
        shares = (each.credited, each.own, each.covered, each.offered)
        table.add_row(
            cell(each.domain),
            cell(each.rank),
            cell(each.machines),
            cell(resources_text(each.offers.texts())),
            *(cell(f"{share:.0%}", sort=share) for share in shares),
            cell(each.text),
            style="bold" if each.rank == 1 else "",
        )
    return table


def victim_table(told: "NeedExplanation") -> "Table":
    from bigfleet.cli.tables import cell, table_of
    from bigfleet.model.reasons import number_text

    numbers = ("PRIORITY", "SCORE", "GAP", "DRAIN", "INTERRUPTION", "RECLAMATION")
    table = table_of("VICTIM", "CLUSTER", *numbers, sentence="WHY", numbers=numbers)
    for each in told.victims:
        terms = (each.gap_term, each.drain_term, each.interruption_term, each.reclamation_term)
        said = f"preempted, {each.grace_seconds} s of grace" if each.chosen else "spared"
        table.add_row(
            cell(each.machine),
            cell(each.cluster),
            cell(each.assigned_priority),
            cell(number_text(each.score), sort=each.score),
            *(cell(number_text(term), sort=term) for term in terms),
            cell(f"{said}: {each.excluded_reason}" if each.excluded_reason else said),
        )
    return table


def _dollars(amount: float) -> str:
    from math import isinf

    return _PINNED if isinf(amount) else f"{amount:.4g}"
