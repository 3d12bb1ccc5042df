"""Every shape by name, in the order the bench runs them."""

from functools import partial

from bigfleet.bench.engine import acquisition, bound_fleets, gangs, steady, uber
from bigfleet.bench.engine.workload import Measure, Shape

_ALL = (
    Shape("uber-5k", "5K bound-sized machines, realistic demand", partial(uber.uber, 5_000)),
    Shape("uber-50k", "ten times uber-5k", partial(uber.uber, 50_000)),
    Shape("uber-500k", "a hundred times uber-5k", partial(uber.uber, 500_000)),
    Shape("B1", "Phase1_Realistic_50K", acquisition.realistic_50k),
    Shape("B1-AllSame", "B1, every Need a gang", acquisition.realistic_50k_all_same),
    Shape("B2", "Phase1_Uber5K_LateRun", acquisition.late_run),
    Shape("B2-Unaggregated", "B2 with 250K Needs", acquisition.late_run_unaggregated),
    Shape("B3", "Phase1_Uber50K_BucketSizedBuckets", gangs.bucket_sized_buckets),
    Shape("B4", "Phase1/Phase3_Uber5K_CoLocated", gangs.co_located),
    Shape("B5", "TakeCoLocated_Repeated_50K", gangs.repeated_co_located),
    Shape("B6", "AcquirableTotals_Uber5KShape", gangs.acquirable_totals),
    Shape("B7", "Phase2_ScaleInversions", bound_fleets.scale_inversions),
    Shape("B8", "Phase2_NoPreemptableVictims", bound_fleets.no_preemptable_victims),
    Shape("B9", "Phase3_HighDemand", bound_fleets.high_demand),
    Shape("B10", "Phase3_M29Shape", bound_fleets.kept_but_short),
    *(
        Shape(
            f"B11-{thousands}K",
            f"ShardCycle_Steady, {thousands}K Idle (the engine's cycle alone)",
            partial(steady.steady, thousands * 1_000),
        )
        for thousands in (1, 10, 50, 100, 500)
    ),
    Shape("scaleway-500k", "500K Idle, 50 aggregated Needs", steady.scaleway_500k),
    Shape("B12", "inventory Snapshot", steady.inventory_snapshot, Measure.INVENTORY_SNAPSHOT),
    Shape("B13", "needs Table.Snapshot", steady.needs_snapshot, Measure.NEEDS_SNAPSHOT),
)
SHAPES = {shape.name: shape for shape in _ALL}


def shapes_named(name: str) -> list[str]:
    """The shape of that name, or every size of a family (B11); case does not matter."""
    wanted = name.lower()
    exact = [shape.name for shape in _ALL if shape.name.lower() == wanted]
    return exact or [s.name for s in _ALL if s.name.lower().startswith(f"{wanted}-")]
