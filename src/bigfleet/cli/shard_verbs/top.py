"""`bigfleet top`: the clusters and shards of a fleet, the largest first."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from bigfleet.cli.connections import Clients, Connection, shard_verb
from bigfleet.cli.default_verbs import DefaultVerb
from bigfleet.cli.output import shows
from bigfleet.cli.whole_fleet import ask_fleet

if TYPE_CHECKING:
    from bigfleet.model.shard_views import MachineView, SessionView, ShardStatus

_CLUSTER_COLUMNS = ("CLUSTER", "MACHINES", "$/H", "NEEDS", "UNMET", "SHORT", "SHARD")
_SHARD_COLUMNS = (
    *("SHARD", "MACHINES", "IDLE", "$/H", "CLUSTERS", "NEEDS", "UNMET", "CYCLE_MS"),
    *("CORES", "MEMORY_MIB"),
)


class _Top(DefaultVerb):
    default = "clusters"


@click.group(cls=_Top)
def top() -> None:
    """The largest clusters and shards first: machines, dollars an hour, what is not met.

    \b
    Examples:
      bigfleet top clusters
      bigfleet top clusters --sort-by=-UNMET
      bigfleet top shards --watch
    """


@dataclass(frozen=True, slots=True)
class ShardTop:
    """What one shard has; slots that could be bought are left out."""

    status: "ShardStatus"
    sessions: "tuple[SessionView, ...]"
    machines: "tuple[MachineView, ...]"

    @property
    def dollars(self) -> float:
        return sum(view.machine.price_per_hour for view in self.machines)

    @property
    def unmet(self) -> int:
        counts = self.status.need_states
        return counts.total - counts.met if counts else self.status.shortfalls


@dataclass(slots=True)
class ClusterTotals:
    cluster: str
    machines: int = 0
    dollars: float = 0.0
    needs: int = 0
    unmet: int = 0
    short: int = 0
    shards: list[str] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        return {
            "clusterId": self.cluster,
            "machines": self.machines,
            "dollarsPerHour": self.dollars,
            "needs": self.needs,
            "unmet": self.unmet,
            "short": self.short,
            "shardIds": self.shards,
        }


async def _look(shard: Clients) -> ShardTop:
    from bigfleet.model.machines import MachineState
    from bigfleet.model.shard_views import MachineQuery, MachineSelector

    real = frozenset(state for state in MachineState if state > MachineState.SPECULATIVE)
    page = await shard.admin.machines(MachineQuery(MachineSelector(states=real)))
    return ShardTop(await shard.admin.status(), await shard.admin.sessions(), page.machines)


@top.command("clusters", short_help="Clusters by machines, dollars and what is not met.")
@shard_verb
@shows(lambda: _CLUSTER_COLUMNS)
def top_clusters(connection: Connection) -> None:
    """Clusters, the one with the most machines first.

    UNMET counts its Needs that are arriving, blocked or short; SHORT those for which there is no
    supply. Of all shards, or of those that --shard names.
    """
    from bigfleet.cli.listings import Column, Listing, write_listing
    from bigfleet.model.reasons import dollars_text

    answers = ask_fleet(connection, _look)
    columns: list[Column[ClusterTotals]] = [
        Column("CLUSTER", lambda row: row.cluster),
        Column("MACHINES", lambda row: row.machines, number=True),
        Column("$/H", lambda row: dollars_text(row.dollars).removeprefix("$"), number=True),
        Column("NEEDS", lambda row: row.needs, number=True),
        Column("UNMET", lambda row: row.unmet, number=True, style=_red_if_unmet),
        Column("SHORT", lambda row: row.short, number=True),
        Column("SHARD", lambda row: ", ".join(row.shards)),
    ]
    listing = Listing(
        columns=columns,
        rows=totals_of(answers.said),
        document=ClusterTotals.document,
        name=lambda row: f"cluster/{row.cluster}",
        head=answers.document(),
        empty="No cluster is connected or has machines.",
    )
    write_listing(connection, listing)
    answers.leave_partial(connection)


def _red_if_unmet(row: ClusterTotals) -> str:
    return "red" if row.unmet else ""


def totals_of(said: dict[str, ShardTop]) -> list[ClusterTotals]:
    """By machines, then dollars, then what is not met."""
    found: defaultdict[str, ClusterTotals] = defaultdict(lambda: ClusterTotals(""))
    for shard, told in said.items():
        for view in told.machines:
            if cluster := view.machine.cluster:
                row = _of(found[cluster], cluster, shard)
                row.machines += 1
                row.dollars += view.machine.price_per_hour
        for session in told.sessions:
            row = _of(found[session.cluster], session.cluster, shard)
            row.needs += session.needs
            if counts := session.need_states:
                row.unmet += counts.total - counts.met
                row.short += counts.short
    return sorted(
        found.values(), key=lambda row: (-row.machines, -row.dollars, -row.unmet, row.cluster)
    )


def _of(row: ClusterTotals, cluster: str, shard: str) -> ClusterTotals:
    row.cluster = cluster
    if shard not in row.shards:
        row.shards.append(shard)
    return row


@top.command("shards", short_help="Shards by machines, dollars and what is not met.")
@shard_verb
@shows(lambda: _SHARD_COLUMNS)
def top_shards(connection: Connection) -> None:
    """Shards, the one with the most machines first.

    MACHINES are real ones: slots that could be bought are left out. CYCLE_MS is how long its last
    cycle took. CORES its process used over the last minute, 0.50 being half of one; MEMORY_MIB it
    has in memory now.
    """
    from bigfleet.cli.listings import Column, Listing, write_listing
    from bigfleet.model.machines import MachineState
    from bigfleet.model.reasons import dollars_text

    answers = ask_fleet(connection, _look)
    rows = sorted(answers.said.items(), key=lambda row: (-len(row[1].machines), -row[1].dollars))

    def idle(told: ShardTop) -> int:
        return Counter(view.machine.state for view in told.machines)[MachineState.IDLE]

    columns: list[Column[tuple[str, ShardTop]]] = [
        Column("SHARD", lambda row: row[0]),
        Column("MACHINES", lambda row: len(row[1].machines), number=True),
        Column("IDLE", lambda row: idle(row[1]), number=True),
        Column("$/H", lambda row: dollars_text(row[1].dollars).removeprefix("$"), number=True),
        Column("CLUSTERS", lambda row: len(row[1].sessions), number=True),
        Column("NEEDS", lambda row: row[1].status.needs, number=True),
        Column("UNMET", lambda row: row[1].unmet, number=True),
        Column(
            "CYCLE_MS", lambda row: f"{row[1].status.last_cycle_seconds * 1000:.0f}", number=True
        ),
        Column("CORES", lambda row: cores_text(row[1].status), number=True),
        Column("MEMORY_MIB", lambda row: memory_text(row[1].status), number=True),
    ]
    listing = Listing(
        columns=columns,
        rows=rows,
        document=lambda row: {
            "shardId": row[0],
            "machines": len(row[1].machines),
            "idle": idle(row[1]),
            "dollarsPerHour": row[1].dollars,
            "clusters": len(row[1].sessions),
            "needs": row[1].status.needs,
            "unmet": row[1].unmet,
            "lastCycleSeconds": row[1].status.last_cycle_seconds,
            "cpuCores": row[1].status.cpu_cores,
            "residentBytes": row[1].status.resident_bytes,
        },
        name=lambda row: f"shard/{row[0]}",
        head=answers.document(),
    )
    write_listing(connection, listing)
    answers.leave_partial(connection)


def cores_text(status: "ShardStatus") -> str:
    """Empty of an older shard, which does not tell."""
    return f"{status.cpu_cores:.2f}" if status.resident_bytes else ""


def memory_text(status: "ShardStatus") -> str:
    return f"{status.resident_bytes / 2**20:,.0f}" if status.resident_bytes else ""
