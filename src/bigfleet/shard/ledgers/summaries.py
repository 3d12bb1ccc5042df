"""How much there is in all: machines and demand as gauges, and the summary a report carries.

Looked up when somebody reads it; a cycle pays nothing for it.
"""

from collections.abc import Iterable, Mapping

from bigfleet.edge.counts import Counts
from bigfleet.engine.census import census_of, demand_census_of
from bigfleet.engine.decision import Decision
from bigfleet.engine.snapshot import Snapshot
from bigfleet.model.penalties import bucket_label
from bigfleet.model.shard_views import ShardSummary


def measure_demand(counts: Counts, decision: Decision) -> None:
    """Set the gauges of what is asked for, and of what of it is not covered."""
    census = demand_census_of(decision)
    rows = {bucket_label(bucket): rows for bucket, rows in census.rows_by_bucket.items()}
    _set_all(counts, "demand_machines", "interruption_penalty_bucket", rows)
    for name, amounts in (("demand_resources", census.wanted), ("unmet_resources", census.unmet)):
        units = {d: a / 1000 if d == "cpu" else a for d, a in amounts.items()}
        _set_all(counts, name, "resource", units)


def measure_machines(counts: Counts, snapshot: Snapshot) -> None:
    """Set the gauges of owned machines: how many of each sort, and what the real ones cost."""
    census = census_of(snapshot)
    _drop_others(counts, "inventory_machines", ())
    for name, costs in (
        ("cost_per_hour", census.cost),
        ("expected_interruption_cost_per_hour", census.interruption_cost),
    ):
        _drop_others(counts, name, ())
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


def summary_of(snapshot: Snapshot, provider_address: str = "") -> ShardSummary:
    census = census_of(snapshot)
    return ShardSummary(
        total_machines=census.machines,
        free_machines=census.free,
        count_of_instance_type=census.by_instance_type,
        count_of_zone=census.by_zone,
        provider_address=provider_address,
    )


def _set_all(counts: Counts, name: str, label: str, values: Mapping[str, float]) -> None:
    """Set these series of a gauge and forget its others."""
    _drop_others(counts, name, values)
    for value, amount in values.items():
        counts.set(name, amount, **{label: value})


def _drop_others(counts: Counts, name: str, kept: Iterable[str]) -> None:
    keeping = set(kept)
    for series, labels in list(counts.gauges):
        if series == name and not (labels and labels[0][1] in keeping):
            del counts.gauges[series, labels]
