"""The answers of several shards are one answer about the fleet."""

from bigfleet.whatif.summing import summed
from tests.wire.admin import COMPARED


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
