"""Back-offs of offerings: told to the others, believed from the others, until they say else."""

import pytest

from bigfleet.model.coordination import OfferingBackoff
from bigfleet.model.machines import CapacityType
from bigfleet.model.offering_scopes import OfferingRow, OfferingScope, Scope, scope_named
from bigfleet.model.options import SECOND
from tests.transfers.shards import S, Shard, machine, need

NAME = "cloud///OnDemand"


def shop() -> Shard:
    """Two slots of one offering, and a cluster that wants one."""
    slots = [
        machine(f"slot-{n}", S.SPECULATIVE, capacity_type=CapacityType.ON_DEMAND) for n in (0, 1)
    ]
    return Shard(slots)


def told(shard: Shard, seconds: int, attempt: int = 1, name: str = NAME) -> OfferingBackoff:
    return OfferingBackoff(name, "stockout", attempt, shard.at + seconds * SECOND)


def buys(shard: Shard) -> bool:
    shard.report("shop", need("shop", 1, 100))
    shard.run(2)
    return any(record.state is not S.SPECULATIVE for record in shard.shelf.values())


def test_what_this_shard_cannot_buy_is_told_to_the_others() -> None:
    shard = shop()
    machines = shard.state.parts.machines
    shard.state.parts.offerings.out_of_stock(machines.truth("slot-0"), "sold out", shard.at)
    [said] = shard.sync().backoffs
    assert (said.offering, said.kind, said.attempt) == (NAME, "stockout", 1)
    assert said.until > shard.at


def test_what_another_shard_cannot_buy_is_not_tried_here() -> None:
    shard = shop()
    shard.sync(backoffs=(told(shard, 300),))
    assert not buys(shard)


def test_what_was_only_heard_is_not_told_on() -> None:
    shard = shop()
    shard.sync(backoffs=(told(shard, 300),))
    assert shard.sync().backoffs == ()


def test_it_is_tried_again_when_the_others_can() -> None:
    shard = shop()
    shard.sync(backoffs=(told(shard, 300),))
    shard.sync()
    assert buys(shard)


def test_it_is_tried_again_when_its_time_is_over() -> None:
    shard = shop()
    shard.sync(backoffs=(told(shard, 30),))
    assert not buys(shard)
    shard.wait(31)
    assert buys(shard)


def test_an_admin_who_knows_better_is_not_overruled_by_old_news() -> None:
    shard = shop()
    old = told(shard, 300)
    shard.sync(backoffs=(old,))
    assert shard.state.parts.offerings.reset(NAME, shard.at)
    shard.sync(backoffs=(old,))
    assert buys(shard)


def test_what_this_shard_found_out_itself_is_its_own() -> None:
    shard = shop()
    machines = shard.state.parts.machines
    shard.state.parts.offerings.out_of_stock(machines.truth("slot-0"), "sold out", shard.at)
    shard.sync()
    assert not buys(shard)
    assert len(shard.sync().backoffs) == 1


SCOPES: dict[str, Scope | None] = {
    "cloud/a3/z1/Spot": OfferingScope("cloud", "a3", "z1", CapacityType.SPOT),
    "org/cloud/a3/z1/Spot": OfferingScope("org/cloud", "a3", "z1", CapacityType.SPOT),
    "cloud/a3/*": OfferingRow("cloud", instance_type="a3"),
    "cloud/*/z1": OfferingRow("cloud", zone="z1"),
    "cloud/*/*": None,
    "cloud/a3/z1/Metal": None,
    "nonsense": None,
    "": None,
}


@pytest.mark.parametrize(("name", "scope"), SCOPES.items(), ids=[n or "empty" for n in SCOPES])
def test_the_name_of_a_scope_leads_back_to_it(name: str, scope: Scope | None) -> None:
    assert scope_named(name) == scope
    assert scope is None or scope.name == name


def test_unknown_names_are_left_alone() -> None:
    shard = shop()
    shard.sync(backoffs=(told(shard, 300, name="nonsense"),))
    assert buys(shard)
