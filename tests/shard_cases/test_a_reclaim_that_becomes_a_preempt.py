"""A machine that is being given back, claimed again and taken by somebody higher in one cycle."""

from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import MachineState
from bigfleet.model.needs import Need
from bigfleet.model.profiles import Profile
from bigfleet.model.rollups import Rollup
from bigfleet.model.session_frames import Hello
from bigfleet.shard.events import RollupArrived, SessionOpened
from bigfleet.shard.settings import ShardSettings
from tests.shard_cases.stand import Stand, cores, machine


def farm_reports(stand: Stand, *amounts: int) -> None:
    needs = tuple(Need("farm", Profile.of(), cores(amount)) for amount in amounts)
    rollup = Rollup("farm", stand.at, needs, repr(amounts).encode())
    stand.obey(stand.state.handle(RollupArrived(2, rollup, stand.at)))


def test_its_instruction_stays_the_same() -> None:
    stand = Stand(ShardSettings(), [machine("m-1", MachineState.CONFIGURED, "farm")])
    stand.obey(stand.state.handle(SessionOpened(2, Hello("farm"), "test", stand.at)))
    farm_reports(stand)
    stand.cycle()
    drains = stand.state.parts.drains
    given_back = drains.intent("m-1")
    assert given_back is not None
    assert given_back.kind is ActionKind.RECLAIM
    farm_reports(stand, 8)
    stand.report(0, 8)
    stand.cycle()
    taken = drains.intent("m-1")
    assert taken is not None
    assert taken.kind is ActionKind.PREEMPT
    assert taken.instruction_id == given_back.instruction_id
    assert stand.counts.of("drains_aborted_total", reason="cancelled") == 0
