"""A machine that is being given back, claimed again and taken by a higher Need in one cycle."""

from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import MachineState
from bigfleet.model.needs import Need
from bigfleet.model.profiles import Profile
from bigfleet.model.rollups import Rollup
from bigfleet.model.session_frames import Hello
from bigfleet.shard.events import RollupArrived, SessionOpened
from bigfleet.shard.settings import ShardSettings
from tests.shard_cases.rig import Rig, cores, machine


def farm_reports(rig: Rig, *amounts: int) -> None:
    needs = tuple(Need("farm", Profile.of(), cores(amount)) for amount in amounts)
    rollup = Rollup("farm", rig.at, needs, repr(amounts).encode())
    rig.obey(rig.state.handle(RollupArrived(2, rollup, rig.at)))


def test_its_instruction_stays_the_same() -> None:
    rig = Rig(ShardSettings(), [machine("m-1", MachineState.CONFIGURED, "farm")])
    rig.obey(rig.state.handle(SessionOpened(2, Hello("farm"), "test", rig.at)))
    farm_reports(rig)
    rig.cycle()
    drains = rig.state.parts.drains
    given_back = drains.intent("m-1")
    assert given_back is not None
    assert given_back.kind is ActionKind.RECLAIM
    farm_reports(rig, 8)
    rig.report(0, 8)
    rig.cycle()
    taken = drains.intent("m-1")
    assert taken is not None
    assert taken.kind is ActionKind.PREEMPT
    assert taken.instruction_id == given_back.instruction_id
    assert rig.counts.of("drains_aborted_total", reason="cancelled") == 0
