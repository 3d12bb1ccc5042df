"""What the coordinator is told: what is in use, and what shortfalls would take of the rest."""

from bigfleet.model.coordination import QuotaGrant, QuotaUsage, ShortfallDetail
from bigfleet.model.machines import MachineState
from bigfleet.model.requirements import REGION_KEY, Operator, Requirement
from bigfleet.model.resources import Resources
from bigfleet.shard.instructions import Log
from tests.quota_withholding.granting import ACME, BOLT, GrantRig, slot

S = MachineState


def cores(number: int) -> Resources:
    return Resources.of({"cpu": number * 1000})


def short(
    number: int, priority: int = 100, unit: int = 1, *requirements: Requirement
) -> ShortfallDetail:
    return ShortfallDetail("fp", requirements, cores(unit), cores(number), priority)


def usage(shard: GrantRig, *shortfalls: ShortfallDetail) -> QuotaUsage:
    [found] = [each for each in shard.quotas.usage(shortfalls) if each.provider == ACME]
    return found


def withholding(*machines: str) -> GrantRig:
    """One machine in use, everything else withheld."""
    shard = GrantRig()
    shard.has(slot("used", state=S.CONFIGURED), *(slot(name) for name in machines))
    shard.granted(1)
    assert shard.withheld() == sorted(machines)
    return shard


def test_every_place_with_machines_is_told_also_without_a_grant() -> None:
    shard = GrantRig()
    shard.has(slot("a", state=S.IDLE), slot("b"), slot("c", region="us"))
    shard.has(slot("d", state=S.IDLE), provider=BOLT)
    assert shard.quotas.usage() == (
        QuotaUsage(ACME, "eu", 0, 1),
        QuotaUsage(ACME, "us", 0, 0),
        QuotaUsage(BOLT, "eu", 0, 1),
    )


def test_a_grant_is_told_where_nothing_is_in_use() -> None:
    shard = GrantRig()
    shard.granted(7)
    assert shard.quotas.usage() == (QuotaUsage(ACME, "eu", 7, 0),)


def test_a_shortfall_wants_as_many_slots_as_it_would_take() -> None:
    shard = withholding("a", "b", "c", "d")
    assert usage(shard, short(20)) == QuotaUsage(ACME, "eu", 1, 1, 3, 100)


def test_no_more_is_wanted_than_is_withheld() -> None:
    assert usage(withholding("a", "b"), short(400)).wanted == 2


def test_nothing_is_wanted_where_nothing_is_withheld() -> None:
    shard = GrantRig()
    shard.has(slot("a"), slot("b"))
    shard.granted(2)
    assert usage(shard, short(400)).wanted == 0


def test_a_slot_is_wanted_once() -> None:
    shard = withholding("a", "b", "c")
    found = usage(shard, short(16, priority=10), short(16, priority=500))
    assert (found.wanted, found.top_priority) == (3, 500)


def test_the_priority_is_that_of_what_could_use_a_slot() -> None:
    shard = withholding("a")
    assert usage(shard, short(8, 900, 64), short(8, 5)).top_priority == 5
    assert usage(shard, short(8, 900, 64)).wanted == 0
    assert usage(shard, short(8, -10)).top_priority == -10


def test_requirements_are_looked_at() -> None:
    elsewhere = Requirement.of(REGION_KEY, Operator.IN, ["us"])
    assert usage(withholding("a"), short(8, 100, 1, elsewhere)).wanted == 0


def test_what_no_slot_has_is_not_wanted_of_them() -> None:
    gpus = ShortfallDetail("fp", (), cores(1), Resources.of({"nvidia.com/gpu": 4}), 100)
    assert usage(withholding("a"), gpus).wanted == 0


def test_grants_outlive_the_shard() -> None:
    shard = withholding("a", "b")
    row = shard.quotas.row_of([QuotaGrant(ACME, "eu", 1)], {ACME: "eu"})
    again = GrantRig({"quotas": row})
    again.has(slot("used", state=S.CONFIGURED), slot("a", region=None), slot("b"))
    again.looks()
    assert again.withheld() == ["a", "b"]
    assert not again.bought("a")


def test_grants_that_cannot_be_read_limit_nothing_and_are_said() -> None:
    shard = GrantRig({"quotas": b"{"})
    shard.has(slot("a"))
    shard.looks()
    assert shard.withheld() == []
    said = [each for each in shard.effects.taken() if isinstance(each, Log)]
    assert [(each.level, each.event) for each in said] == [("error", "quotas_unreadable")]
