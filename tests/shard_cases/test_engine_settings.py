"""What is set about the engine is what it decides by."""

from dataclasses import replace

from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import Assigned, Machine, MachineState
from bigfleet.model.options import Parking, VictimWeights
from bigfleet.model.settings import Seconds
from bigfleet.shard.cycle import deliberate
from bigfleet.shard.settings import EngineSettings, ShardSettings
from tests.shard_cases.rig import Rig, machine

#: Dear to interrupt, and less important by five points.
DEAR = replace(
    machine("dear", MachineState.CONFIGURED, "farm"), assigned=Assigned(-10, 1024.0, 1024.0)
)
CHEAP = replace(machine("cheap", MachineState.CONFIGURED, "farm"), assigned=Assigned(-5))


def victim_by(engine: EngineSettings, *machines: Machine) -> str:
    rig = Rig(ShardSettings(engine=engine), machines)
    rig.report(0, 8)
    given = rig.state.begin_cycle(rig.at)
    decision = deliberate(given, map, lambda: 0.0).decision
    (taken,) = [a for a in decision.actions if a.kind is ActionKind.PREEMPT]
    return taken.machine


def test_weights_decide_whose_machine_is_taken() -> None:
    assert victim_by(EngineSettings(), DEAR, CHEAP) == "cheap"
    by_priority = EngineSettings(victim_weight_interruption=0.0, victim_weight_reclamation=0.0)
    assert victim_by(by_priority, DEAR, CHEAP) == "dear"


def test_every_engine_setting_reaches_the_engine() -> None:
    engine = EngineSettings(2.0, 0.2, 0.3, 0.4, Seconds(45.0), 4, 16)
    options = Rig(ShardSettings(engine=engine), []).state.decision_loop.options()
    assert options.victim_weights == VictimWeights(2.0, 0.2, 0.3, 0.4)
    assert (options.drain_seconds, options.parking) == (45.0, Parking(4, 16))


def test_without_settings_the_engine_decides_as_the_library_does() -> None:
    options = Rig(ShardSettings(), []).state.decision_loop.options()
    assert options.victim_weights == VictimWeights()
    assert (options.drain_seconds, options.parking) == (30.0, Parking())
