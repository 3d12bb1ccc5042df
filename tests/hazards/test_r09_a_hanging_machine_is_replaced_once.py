"""R09, with the engine: a machine that hangs is replaced once, and its late end is not a loss."""

from collections.abc import Iterable
from dataclasses import replace

from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import MachineRecord, Mutation
from bigfleet.model.settings import Seconds
from bigfleet.shard.settings import DeadlineSettings, DrainSettings, ShardSettings
from tests.hazards.virtual_fleet import VirtualFleet, bound, need

S = MachineState
SETTINGS = replace(
    ShardSettings(),
    deadlines=DeadlineSettings(configuring=Seconds(20.0), failed_backoff_min=Seconds(5.0)),
    drain=DrainSettings(reclaim_grace=Seconds(5.0)),
)


class HangingFleet(VirtualFleet):
    """The provider accepts everything and never comes to an end with some machines."""

    def __init__(self, records: Iterable[MachineRecord], hanging: set[str]) -> None:
        self.hanging = hanging
        super().__init__(records, {}, SETTINGS)

    def _begin(self, call: Mutation) -> None:
        super()._begin(call)
        if call.machine_id in self.hanging:
            del self._due[call.machine_id]

    def bootstraps(self) -> list[str]:
        return [
            view.machine
            for view in self.state.decision_loop.actions
            if view.kind.label == "Bootstrap"
        ]


def test_r09_a_machine_that_hangs_in_configuring_is_replaced_once() -> None:
    fleet = HangingFleet([bound(f"m{n}", "") for n in range(4)], {"m0"})
    fleet.report("web", need("web", 1, 1000))
    fleet.run(15)
    assert fleet.bootstraps() == ["m0"]
    assert fleet.of("web") == set()
    fleet.run(60)
    assert fleet.bootstraps() == ["m0", "m1"]
    assert fleet.of("web") == {"m1"}
    assert fleet.counted("failed_machines", cause="timeout_configuring") == 1


def test_r09_a_late_completion_is_taken_over_and_what_is_too_much_given_back() -> None:
    fleet = HangingFleet([bound(f"m{n}", "") for n in range(4)], {"m0"})
    fleet.report("web", need("web", 1, 1000))
    fleet.run(40)
    fleet.hanging.clear()
    fleet.shelf["m0"] = replace(fleet.shelf["m0"], state=S.CONFIGURED)
    fleet.run(120)
    assert len(fleet.of("web")) == 1
    assert fleet.counted("machine_recoveries_total", cause="timeout_configuring") == 1
    assert fleet.state.parts.machines.truth("m0").state in (S.CONFIGURED, S.IDLE)
