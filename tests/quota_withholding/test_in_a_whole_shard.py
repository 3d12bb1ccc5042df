"""A shard with a quota: what it buys, what it says it lacks, what it shows people."""

from bigfleet.model.coordination import QuotaGrant
from bigfleet.model.machines import MachineState
from bigfleet.model.ownership import OwnershipView
from bigfleet.model.requirements import REGION_KEY
from tests.ownership.shared_cloud import ADDRESS, CLOUD, Cloud, Shard, slot

S = MachineState
SLOTS = ("m-0", "m-1", "m-2", "m-3")


def shard_with(allocated: int) -> Shard:
    cloud = Cloud(slot(name, "x", S.SPECULATIVE, **{REGION_KEY: "eu"}) for name in SLOTS)
    shard = cloud.join("a")
    shard.take(OwnershipView.of(1, default_owners={ADDRESS: "a"}))
    shard.lists()
    grants(shard, allocated)
    return shard


def grants(shard: Shard, allocated: int) -> None:
    shard.cloud.pass_()
    shard.state.parts.quotas.take([QuotaGrant(CLOUD, "eu", allocated)], {}, shard.cloud.at)
    shard.obey(shard.state.taken())


def bought(shard: Shard) -> set[str]:
    return {name for _, call, name in shard.cloud.asked if call == "CreateCall"}


def withheld(shard: Shard) -> list[str]:
    views = shard.state.machine_views
    return [name for name in shard.ids() if views.view(name).withheld_by_quota]


def test_no_more_is_bought_than_was_granted() -> None:
    shard = shard_with(2)
    assert withheld(shard) == ["m-2", "m-3"]
    shard.wants(4)
    for _ in range(5):
        shard.cycle()
        shard.cloud.pass_()
        shard.lists()
        shard.tick()
    assert bought(shard) == {"m-0", "m-1"}
    [usage] = shard.state.parts.quotas.usage(shard.state.parts.shortfalls.details(100))
    assert (usage.allocated, usage.in_use, usage.wanted) == (2, 2, 2)


def test_a_larger_grant_is_bought_at_once() -> None:
    shard = shard_with(1)
    shard.wants(4)
    shard.cycle()
    assert bought(shard) == {"m-0"}
    grants(shard, 3)
    shard.cycle()
    assert bought(shard) == {"m-0", "m-1", "m-2"}
    assert withheld(shard) == ["m-3"]


def test_what_was_decided_before_the_grant_shrank_is_not_bought() -> None:
    shard = shard_with(4)
    shard.wants(4)
    thought = shard.thinks()
    grants(shard, 1)
    thought.ends()
    assert len(bought(shard)) == 1


def test_machines_that_are_in_use_stay_when_the_grant_shrinks() -> None:
    shard = shard_with(2)
    shard.wants(2)
    shard.cycle()
    grants(shard, 0)
    for _ in range(3):
        shard.lists()
        shard.cycle()
        shard.tick()
        shard.cloud.pass_()
    shard.lists()
    bound = [m for m in shard.ids() if shard.state.parts.machines.state_of(m) is S.CONFIGURED]
    assert len(bound) == 2
