"""The answers of several shards are one answer about the fleet."""

from dataclasses import replace

from bigfleet.model.needs import NeedKey
from bigfleet.model.what_if import (
    Fate,
    NeedWait,
    SettledSide,
    Settling,
    Sweep,
    SweepAxis,
    SweepPoint,
)
from bigfleet.whatif.summing import summed
from tests.wire.what_if_answer import COMPARED


def test_one_shard_answers_for_itself() -> None:
    assert summed({"shard-0": COMPARED}) is COMPARED


def test_two_shards_are_added_up() -> None:
    both = summed({"shard-0": COMPARED, "shard-1": COMPARED})
    assert both.cycle == "shard-0 3:18231, shard-1 3:18231"
    assert both.changed.cost_per_hour == 2 * COMPARED.changed.cost_per_hour
    assert both.changed.shortfalls_by_priority == {1000: 2, 5: 4}
    assert both.changed.machines_by_state == {"Idle": 14}
    assert [c.cluster for c in both.clusters] == ["bank", "shop"]
    assert both.clusters[0].lost == 2
    assert both.clusters[0].after.actions_by_kind == {"Preempt": 4}
    assert [n.priority for n in both.newly_unmet] == [1000, 1000, 10, 10]
    assert both.newly_unmet_count == 60
    assert both.warnings == ("shard-0: a warning", "shard-1: a warning")


def test_a_fleet_is_at_rest_once_its_last_shard_is() -> None:
    sides = (SettledSide(9, 10.0, ((2.0, 3), (9.0, 1))), SettledSide(40, 41.0, ((2.0, 1),), 2))
    waits = (NeedWait(NeedKey("a", "f", ""), 5, 9.0), NeedWait(NeedKey("b", "f", ""), 1, None))
    answers = {
        f"shard-{n}": replace(
            COMPARED,
            changed=replace(COMPARED.changed, settled=side),
            settling=Settling(short_at_first=3, recovered=1, waits=(wait,)),
        )
        for n, (side, wait) in enumerate(zip(sides, waits, strict=True))
    }
    both = summed(answers)
    assert both.changed.settled == SettledSide(40, 41.0, ((2.0, 4), (9.0, 1)), 2)
    assert both.settling == Settling(short_at_first=6, recovered=2, waits=(waits[1], waits[0]))
    restless = replace(sides[1], quiet_after_cycles=None)
    answers["shard-1"] = replace(
        COMPARED, changed=replace(COMPARED.changed, settled=restless), settling=Settling()
    )
    told = summed(answers).changed.settled
    assert told is not None
    assert told.quiet_after_cycles is None


def test_points_of_a_sweep_are_those_that_every_shard_has() -> None:
    axes = (SweepAxis("demand", (1.0, 2.0)),)
    points = tuple(SweepPoint((value,), COMPARED) for value in axes[0].values)
    whole = replace(COMPARED, sweep=Sweep(axes, points))
    late = replace(COMPARED, sweep=Sweep(axes, points[:1]))
    both = summed({"shard-0": whole, "shard-1": late}).sweep
    assert both is not None
    assert [point.values for point in both.points] == [(1.0,)]
    assert not both.is_complete
    assert both.points[0].answer.changed == summed({"a": COMPARED, "b": COMPARED}).changed
    assert summed({"shard-0": whole, "shard-1": COMPARED}).sweep is None


def test_machines_of_the_same_fate_are_one_group() -> None:
    one, other = (
        replace(COMPARED, fates=(Fate(True, machines=count, machine_ids=(name,)),))
        for count, name in ((1, "m-1"), (2, "m-2"))
    )
    fates = summed({"shard-0": one, "shard-1": other}).fates
    assert fates == (Fate(True, machines=3, machine_ids=("m-1", "m-2")),)
