"""How much there is in all: machines and demand as gauges, and the summary a report carries.

Looked up when it is read; a cycle pays nothing for it.
"""

from bigfleet.costs.rates import CostSheet
from bigfleet.edge.counts import FINE, Counts
from bigfleet.engine.census import census_of, demand_census_of
from bigfleet.engine.decision import Counters, Decision, Mode
from bigfleet.engine.snapshot import Snapshot
from bigfleet.model.fleet import Costs
from bigfleet.model.machines import CapacityType
from bigfleet.model.penalties import bucket_label
from bigfleet.model.shard_views import ShardSummary

#: Clusters with a series of their own, those that cost most.
MOST_CLUSTERS = 200
#: Every machine has them, whether or not its provider says so.
_USUAL_RESOURCES = frozenset({"cpu", "memory", "ephemeral-storage", "pods"})


def measure_demand(counts: Counts, decision: Decision) -> None:
    """Set the gauges of what is asked for, and of what of it is not covered.

    Clusters name resources as they like: those that machines have come first, then the largest, and
    what no Need asks for any more is not shown.
    """
    census = demand_census_of(decision)
    rows = {(bucket_label(bucket),): rows for bucket, rows in census.rows_by_bucket.items()}
    counts.show("demand_machines", ("interruption_penalty_bucket",), rows)
    had = {*_USUAL_RESOURCES, *decision.outcome.scene.snapshot.tables.shapes.names}
    for name, amounts in (("demand_resources", census.wanted), ("unmet_resources", census.unmet)):
        asked = {d: a for d, a in amounts.items() if d in had or census.wanted[d] > 0}
        units = {(d,): a / 1000 if d == "cpu" else a for d, a in asked.items()}
        counts.show(name, ("resource",), units, first=had)


def measure_machines(counts: Counts, snapshot: Snapshot) -> None:
    """Set the gauges of owned machines: how many of each sort, and what the real ones cost."""
    census = census_of(snapshot)
    counts.clear("inventory_machines")
    for name, costs in (
        ("cost_per_hour", census.cost),
        ("expected_interruption_cost_per_hour", census.interruption_cost),
    ):
        counts.clear(name)
        for (state, capacity_type), dollars in costs.items():
            counts.set(name, dollars, capacity_type=capacity_type.label, state=state.label)
    for (state, capacity_type, bucket), machines in census.by_sort.items():
        counts.set(
            "inventory_machines",
            machines,
            state=state.label,
            capacity_type=capacity_type.label,
            interruption_penalty_bucket=bucket_label(bucket),
        )


def measure_costs(counts: Counts, decision: Decision) -> None:
    """Set the gauges of what is billed; prices are those of the cycle that was decided."""
    sheet = CostSheet(decision.outcome, Costs())
    counts.show(
        "cost_dollars_per_hour",
        ("cluster", "capacity_type"),
        sheet.bill_by_cluster(MOST_CLUSTERS),
        most=(MOST_CLUSTERS + 1) * len(CapacityType),
    )
    counts.set("idle_dollars_per_hour", float(sheet.price[sheet.idle].sum()))


def summary_of(snapshot: Snapshot, provider_address: str = "") -> ShardSummary:
    census = census_of(snapshot)
    return ShardSummary(
        total_machines=census.machines,
        free_machines=census.free,
        count_of_instance_type=census.by_instance_type,
        count_of_zone=census.by_zone,
        provider_address=provider_address,
    )


def measure_contention(counts: Counts, decision: Decision, broker_seconds: float) -> None:
    """How the workers of Phase 1 got in each other's way.

    The broker commits in precedence order and proposes a stale proposal again on the spot
    (ADR-0005). So no Need is displaced in a cycle, a retry cannot conflict, and no retries run out:
    these series stand at 0, and one that moves is a defect of the engine. `broker_seconds`: what
    all proposals of the cycle took at the broker.
    """
    total = decision.counters
    counts.add("phase1_occ_proposals_total", total.committed, outcome="committed")
    counts.add("phase1_occ_proposals_total", total.conflicts, outcome="conflict")
    counts.add("phase1_occ_displacements_total", total.displacements)
    counts.add("phase1_occ_retries_exhausted_total", 0)
    for mode, counters in decision.counters_of_mode.items():
        _measure_mode(counts, mode, counters)
        if counters.proposals:
            # Both modes stand in one queue and are timed together: a kernel reads no clock.
            each = broker_seconds / total.proposals
            counts.observe(
                "phase1_proposal_duration_seconds", each, FINE, counters.proposals, mode=mode.value
            )


def _measure_mode(counts: Counts, mode: Mode, counters: Counters) -> None:
    fraction = counters.conflicts / max(1, counters.committed)
    counts.set("phase1_occ_conflict_fraction", fraction, mode=mode.value)
    outcomes = {
        "committed": counters.retries_committed,
        "empty": counters.retries - counters.retries_committed,
        "conflict": 0,
    }
    for outcome, retries in outcomes.items():
        counts.add("phase1_occ_retries_total", retries, mode=mode.value, outcome=outcome)
