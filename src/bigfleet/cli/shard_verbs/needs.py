"""`bigfleet needs`: what clusters ask for, what the last cycle made of it, and what is short."""

from typing import TYPE_CHECKING

import click

from bigfleet.cli.connections import Clients, Line, shard_verb
from bigfleet.cli.object_names import CLUSTER, require_cluster

if TYPE_CHECKING:
    from bigfleet.cli.tables import Page
    from bigfleet.model.profiles import Profile
    from bigfleet.model.shard_views import NeedPage, NeedView


@click.command()
@shard_verb
@click.option("--cluster", type=CLUSTER, default="", help="Only the Needs of this cluster.")
@click.option("--unmet", is_flag=True, help="Only what is not satisfied.")
@click.option(
    "--limit",
    type=click.IntRange(0),
    default=2000,
    show_default=True,
    help="Rows at most; 0 shows all.",
)
def needs(line: Line, cluster: str, unmet: bool, limit: int) -> None:
    """What clusters ask for, and what they got, by the last cycle, highest precedence first.

    PROFILE begins with the Need's id. SHORT is what is missing, REASON why, AGE for how many
    cycles in a row.

    \b
    Examples:
      bigfleet needs --unmet
      bigfleet needs --cluster shop
      bigfleet needs --unmet -o json | jq '.items[] | {needId, unmetReason}'
    """
    from bigfleet.cli.tables import Page, write_items
    from bigfleet.wire.shard_documents import document_of

    async def look(shard: Clients) -> "NeedPage":
        # The shard cuts before anybody could leave out what is met.
        page = await shard.read.needs(cluster, 0 if unmet else limit, shard.timeout)
        if cluster and not page.total:
            await require_cluster(shard, cluster)
        return page

    found = line.ask(look)
    chosen = [view for view in found.needs if not (unmet and view.satisfied)]
    shown = chosen[:limit] if limit else chosen
    if line.json:
        head = {"cycle": found.cycle, "computedAtUnixNanos": found.computed_at}
        items = map(document_of, shown)
        write_items(items, line.now, **head, totalNeeds=found.total)
        return
    page = Page.on_stdout(line.color)
    _show(page, shown)
    page.say("")
    page.say(_count_text(found, len(shown), len(chosen), unmet))
    page.write()


def _count_text(found: "NeedPage", shown: int, chosen: int, unmet: bool) -> str:
    if not found.cycle:
        return "No cycle has ended since the shard started; ask again in a moment."
    counted = f"{shown:,} of {found.total:,} needs shown"
    if unmet:
        counted = f"{shown:,} of {chosen:,} unmet shown, {found.total:,} needs in all"
    rest = "; --limit 0 shows all" if shown < (chosen if unmet else found.total) else ""
    return f"{counted}, as of cycle {found.cycle}{rest}"


def _show(page: "Page", shown: "list[NeedView]") -> None:
    from bigfleet.cli.tables import cell, table_of
    from bigfleet.model.reasons import resources_text

    table = table_of(
        *("PRIORITY", "CLUSTER", "PROFILE", "DEMAND", "STATUS", "SHORT", "REASON", "AGE"),
        numbers=["PRIORITY", "AGE"],
    )
    for view in shown:
        need, met = view.need, view.satisfied
        status = "met" if met else "parked" if view.parked else "unmet"
        short = "" if met else resources_text(view.deficit.positive().texts())
        table.add_row(
            cell(need.profile.priority),
            cell(need.cluster),
            cell(f"{need.key.need_id} {profile_text(need.profile)}".rstrip()),
            cell(resources_text(need.aggregate.texts())),
            cell(status, "" if met else "yellow" if view.parked else "red"),
            cell(short),
            cell(view.unmet_reason if not met else ""),
            cell("" if met else view.unmet_age),
        )
    page.show(table)


def profile_text(profile: "Profile") -> str:
    """What a machine must be, in few words: `zone=a|b, same rack`."""
    from bigfleet.model.requirements import Operator

    words = []
    for wanted in profile.requirements:
        key, values = wanted.key.rpartition("/")[2], "|".join(wanted.values)
        match wanted.operator:
            case Operator.IN:
                words.append(f"{key}={values}")
            case Operator.NOT_IN:
                words.append(f"{key}!={values}")
            case Operator.EXISTS:
                words.append(key)
            case Operator.DOES_NOT_EXIST:
                words.append(f"!{key}")
            case Operator.SAME:
                words.append(f"same {key}")
            case _:
                words.append(f"{key}?")
    words += [f"spread {spread.topology_key.rpartition('/')[2]}" for spread in profile.spread]
    return ", ".join(words)
