"""`bigfleet reports eta`: when Needs are expected to be met, and how good such forecasts were."""

from typing import TYPE_CHECKING, Any

import click

from bigfleet.cli.connections import Clients, Connection, shard_verb
from bigfleet.cli.output import shows
from bigfleet.cli.sources import Source, read_journal, takes_source
from bigfleet.cli.terminal import refuse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bigfleet.cli.listings import Column
    from bigfleet.model.forecasts import Forecast, ForecastReport, Reliability

    Row = tuple[str, Forecast]


@click.command("eta", short_help="When Needs that wait are expected to be met.")
@shard_verb
@shows(lambda: [column.name for column in _columns()])
@takes_source
def eta(connection: Connection, source: Source) -> None:
    """When Needs that wait are expected to be met, and how good such forecasts have been.

    P50, P80 and P95 are times from the cycle that is named: half of all Needs are to be met by the
    first, four of five by the second. PATH says what a Need waits for:

    \b
    in-flight        machines that are being created, configured or joining
    create           machines that are ordered
    drain            machines of victims
    probe            offerings that rest after failed Creates, until the next probe finds stock
    prior            one of these, with assumed durations: too few machines were seen
    held             a pause, a rail or a fault: no time, BASIS says what lifts it
    capacity-needed  nothing that fits is to be had: no time, BASIS says what is missing

    Below the table: which share was met by each of the three. A live shard tells all it has
    forecast since it started, of all shards or of those that --shard names. A journal (--journal)
    forecasts its last cycle, or the cycle --at, and is judged by what came before it. A fleet file
    (--fleet) has no past: its durations are assumed.

    \b
    Examples:
      bigfleet reports eta
      bigfleet reports eta --journal data/journal --at 3:18231
      bigfleet reports eta --fleet fleet.yaml
      bigfleet reports eta --fleet fleet.yaml -o json | jq '.items[] | {needId, path, p80}'
    """
    if not source.is_live:
        shard, recorded, name = _recorded(source)
        _write(connection, {shard: recorded}, {}, f"Forecasts of cycle {name}.")
        return
    if source.at is not None:
        raise refuse(["--at: the past is in the journal; add --journal DIR"])
    from bigfleet.cli.whole_fleet import ask_fleet
    from bigfleet.model.forecasts import ForecastCall

    async def look(shard: Clients) -> "ForecastReport":
        return await shard.admin.forecasts(ForecastCall())

    answers = ask_fleet(connection, look)
    _write(connection, answers.said, answers.document(), _headline(answers.said))
    answers.leave_partial(connection)


def _headline(told: "Mapping[str, ForecastReport]") -> str:
    from bigfleet.cli.shard_verbs.need_listings import as_of_text

    cycles = {shard: (each.cycle, each.at) for shard, each in told.items()}
    if not any(cycle for cycle, _ in cycles.values()):
        return "No forecasts were made yet; ask again in a moment."
    return f"Forecasts, {as_of_text(cycles)}."


def _recorded(source: Source) -> "tuple[str, ForecastReport, str]":
    from bigfleet.cli.why_not import decided_again
    from bigfleet.journal.forecasts import forecasts_of, forecasts_of_file

    asked = source.read()
    cycle = decided_again(asked)
    if source.journal is None or asked.found is None:
        return asked.shard, forecasts_of_file(cycle).report(), asked.name
    with read_journal(source.journal) as segments:
        return asked.shard, forecasts_of(cycle, segments, asked.found).report(), asked.name


def _write(
    connection: Connection,
    told: "Mapping[str, ForecastReport]",
    missing: "Mapping[str, Any]",
    headline: str,
) -> None:
    from bigfleet.cli.listings import Listing, write_listing

    rows = [(shard, each) for shard, report in told.items() for each in report.forecasts]
    listing = Listing(
        columns=_columns(),
        rows=rows,
        document=lambda row: {**forecast_document(row[1]), "shardId": row[0]},
        name=lambda row: f"need/{row[1].need.cluster}/{row[1].need.need_id}",
        head={"shards": [_head(shard, report) for shard, report in told.items()], **missing},
        headline=headline,
        empty="Every Need is met, so there is nothing to forecast.",
        notes=[line for shard, report in told.items() for line in _notes(shard, report)],
    )
    write_listing(connection, listing)


def forecast_document(forecast: "Forecast") -> dict[str, Any]:
    from bigfleet.wire.forecasts import FORECAST

    return {"needId": forecast.need.need_id, **FORECAST.document(forecast)}


def _head(shard: str, report: "ForecastReport") -> dict[str, Any]:
    from bigfleet.wire.forecasts import FORECASTS

    document = dict(FORECASTS.document(report))
    document.pop("forecasts", None)
    return {"shardId": shard, **document}


def _notes(shard: str, report: "ForecastReport") -> list[str]:
    of = f" of {shard}" if shard else ""
    lines = [f"Forecasts{of} so far, from {report.samples:,} durations of steps:"]
    lines += [f"  {line}" for line in reliability_lines(report.reliability)]
    if report.open:
        overdue = (
            f", {report.overdue:,} of them for longer than their p95" if report.overdue else ""
        )
        lines.append(f"  {report.open:,} still wait{overdue}")
    return lines


def reliability_lines(reliability: "Iterable[Reliability]") -> list[str]:
    """`all: met: 52 % by p50, 79 % by p80, 94 % by p95 (n=212)`."""
    return [f"{each.kind}: {each.in_full}" for each in reliability]


def _columns() -> "list[Column[Row]]":
    from bigfleet.cli.listings import Column
    from bigfleet.model.forecasts import rough_text

    def time_of(name: str) -> "Column[Row]":
        def shown(row: "Row") -> str:
            seconds = getattr(row[1], name)
            return "-" if seconds is None else rough_text(seconds)

        def sort(row: "Row") -> float:
            seconds = getattr(row[1], name)
            return float("inf") if seconds is None else float(seconds)

        return Column(name.upper(), shown, number=True, sort=sort)

    return [
        Column("CLUSTER", lambda row: row[1].need.cluster),
        Column("NEED", lambda row: row[1].need.need_id),
        Column("PATH", lambda row: row[1].path.label, style=_style),
        time_of("p50"),
        time_of("p80"),
        time_of("p95"),
        Column("SHARD", lambda row: row[0]),
        Column("BASIS", lambda row: row[1].basis, sentence=True),
    ]


def _style(row: "Row") -> str:
    return "" if row[1].is_timed else "yellow"
