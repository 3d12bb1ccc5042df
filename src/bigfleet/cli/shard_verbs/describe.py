"""`bigfleet describe`: one page about one object: how it is, why, what holds it, what helps.

The object is looked for in all shards. A Need is named by its id or the first characters of it.
"""

from typing import TYPE_CHECKING

import click

from bigfleet.cli.connections import Connection, shard_verb
from bigfleet.cli.object_names import KINDS
from bigfleet.cli.output import shows

if TYPE_CHECKING:
    from bigfleet.cli.shard_verbs.described import Description

#: Headings of what is described.
FACT_COLUMNS = ("FIELD", "VALUE")
DESCRIBED = ("machine", "need", "cluster", "shard")


@click.command(no_args_is_help=True)
@shard_verb
@shows(lambda: FACT_COLUMNS)
@click.argument("kind", metavar="KIND")
@click.argument("name", metavar="NAME", required=False, default="")
def describe(connection: Connection, kind: str, name: str) -> None:
    """Everything known of one machine, need, cluster or shard, and the commands that help.

    Its state and binding, why it is so, the pauses that hold it, its story. It is looked for in all
    shards, or in those that --shard names. KIND/NAME is understood as well as KIND NAME.

    \b
    Examples:
      bigfleet describe machine od-0117
      bigfleet describe need n3f9c
      bigfleet describe cluster shop
      bigfleet describe shard shard-1
    """
    kind, name = named(kind, name)
    description = _described(connection, kind, name)
    description.write(connection)


def named(kind: str, name: str) -> tuple[str, str]:
    """`machine/od-1`, `machine od-1` and `machine machine/od-1` are the same."""
    if not name:
        kind, slash, name = kind.partition("/")
        if not slash or not name:
            raise click.UsageError(f"describe what? write: bigfleet describe {kind} NAME")
    said, slash, rest = name.partition("/")
    if slash and said == kind:
        name = rest
    if kind not in DESCRIBED:
        from difflib import get_close_matches

        near = get_close_matches(kind, DESCRIBED, n=1)
        known = f"there are {', '.join(DESCRIBED)}"
        hint = f"did you mean {near[0]}?" if near else known
        what = "cannot be described" if kind in KINDS else "is not a kind of object"
        raise click.UsageError(f"{kind!r} {what}; {hint}")
    return kind, name


def _described(connection: Connection, kind: str, name: str) -> "Description":
    match kind:
        case "machine":
            from bigfleet.cli.shard_verbs.described_machine import describe_machine

            return describe_machine(connection, name)
        case "need":
            from bigfleet.cli.shard_verbs.described_need import describe_need

            return describe_need(connection, name)
        case "cluster":
            from bigfleet.cli.shard_verbs.described_cluster import describe_cluster

            return describe_cluster(connection, name)
        case _:
            from bigfleet.cli.shard_verbs.described_shard import describe_shard

            return describe_shard(connection, name)
