"""A list of reserved machines has them and no others, whatever else is asked for."""

from bigfleet.model.machines import MachineState
from bigfleet.model.shard_views import MachineQuery, MachineSelector
from tests.hazards.virtual_fleet import bound, need
from tests.need_states.virtual_shard import BANK, SHOP, VirtualShard, idle

RESERVED = MachineQuery(only_reserved=True)


def ids(fleet: VirtualShard, query: MachineQuery) -> list[str]:
    views = fleet.state.machine_views
    return views.page(views.matching(query), query)


def test_victims_are_listed_while_they_wait_for_the_need_that_took_them() -> None:
    fleet = VirtualShard([bound("m-1", SHOP), bound("m-2", SHOP), idle("m-3")], {})
    fleet.report(SHOP, need(SHOP, 2, 10))
    fleet.report(BANK)
    fleet.run(2)
    assert ids(fleet, RESERVED) == []
    fleet.report(BANK, need(BANK, 3, 900))
    fleet.run(1)
    reserved = sorted(fleet.state.decision_loop.reservations)
    assert reserved
    assert "m-3" not in reserved
    assert ids(fleet, RESERVED) == reserved
    speculative = MachineSelector(states=frozenset({MachineState.SPECULATIVE}))
    assert ids(fleet, MachineQuery(speculative, only_reserved=True)) == []
    one = MachineSelector(ids=frozenset({reserved[0], "m-3"}))
    assert ids(fleet, MachineQuery(one, only_reserved=True)) == reserved[:1]
