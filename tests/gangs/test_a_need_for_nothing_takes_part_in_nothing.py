"""U25: a Need with nothing in its aggregate is satisfied; no fold, no domain, no parking."""

from dataclasses import replace

import pytest

from bigfleet.model.machines import MachineState
from bigfleet.model.memory import EngineMemory
from bigfleet.model.needs import Need
from bigfleet.model.options import EngineOptions
from bigfleet.model.resources import Resources
from tests.worlds.fleets import decided, verdict_of
from tests.worlds.racks import cpus, in_rack, rack_gang

NOTHING = replace(rack_gang("c", 4, "g"), aggregate=Resources.of({"cpu": 0}))


@pytest.mark.parametrize("fold", [True, False])
@pytest.mark.parametrize("aggregate", [Resources(), cpus(0), Resources.of({"cpu": 0})], ids=str)
def test_it_is_satisfied_and_has_no_domain(aggregate: Resources, fold: bool) -> None:
    need: Need = replace(NOTHING, aggregate=aggregate)
    machines = in_rack("a", 2, MachineState.CONFIGURED, cluster="c") + in_rack("b", 2)
    verdict = verdict_of(decided(machines, [need], options=EngineOptions(fold=fold)))
    assert (verdict.satisfied, verdict.folded, verdict.domain) == (True, False, None)
    assert (verdict.claimed, verdict.unmet_reason) == ((), None)


def test_it_is_neither_parked_nor_aged() -> None:
    memory = EngineMemory(parking={NOTHING.key: 9})
    for need in (NOTHING, replace(NOTHING, parked=True)):
        decision = decided(in_rack("a", 2), [need], memory=memory)
        assert not verdict_of(decision).parked
        assert decision.memory.parking == {}
