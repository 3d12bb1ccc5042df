"""R16 over random schedules: whole shards, one provider, domains and machines that change hands.

Views, instructions and Lists come late or not at all, cycles are carried out on what has changed
since, and shards are started again from what they have on disk. The provider itself holds every
mutation against the law: the shard that asks for it is the only owner of the machine.
"""

import random

import pytest

from bigfleet.model.coordinator_calls import CoordinatorInstruction, Done, InstructionKind
from bigfleet.model.machines import MachineState
from bigfleet.model.ownership import Pair
from bigfleet.model.requirements import RACK_KEY, ZONE_KEY
from bigfleet.shard.reconciling.list_reading import Listing
from tests.ownership.hand_overs import Coordinator
from tests.ownership.shared_cloud import ADDRESS, Cloud, PendingCycle, Shard, slot

SHARDS = ("a", "b", "c")
PAIRS: tuple[Pair, ...] = (
    (ZONE_KEY, "x"),
    (ZONE_KEY, "y"),
    (RACK_KEY, "r1"),
    (RACK_KEY, "r2"),
)
#: Each as often as its number says.
STEPS = {
    "assign": 1,
    "unassign": 1,
    "default": 1,
    "sync": 12,
    "obey": 12,
    "list": 10,
    "read": 3,
    "arrive": 3,
    "wants": 5,
    "cycle": 12,
    "think": 3,
    "carry out": 3,
    "tick": 8,
    "pass": 10,
    "restart": 1,
    "offer": 2,
    "release": 4,
    "grant": 4,
    "cancel": 1,
    "hear of transfers": 2,
}


class Schedule:
    """One run, drawn from a seed."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        states = (MachineState.SPECULATIVE, MachineState.IDLE)
        self.cloud = Cloud(
            slot(f"m-{zone}{rack}{number}", zone, states[number % 2], **{RACK_KEY: rack})
            for zone in "xy"
            for rack in ("r1", "r2")
            for number in range(3)
        )
        self.coordinator = Coordinator({ADDRESS: "a"})
        self.late: dict[str, Listing] = {}
        self.thoughts: dict[str, PendingCycle] = {}
        self.done: list[str] = []
        for name in SHARDS:
            shard = self.cloud.join(name)
            shard.take(self.coordinator.view())
            shard.lists()
            shard.wants(2)

    def run(self, steps: int) -> None:
        for _ in range(steps):
            [step] = self.chance.choices(list(STEPS), list(STEPS.values()))
            name = self.chance.choice(SHARDS)
            self.done.append(f"{step} {name}")
            self.step(step, self.cloud.shards[name])
            self.check()

    def step(self, step: str, shard: Shard) -> None:
        pair, name = self.chance.choice(PAIRS), shard.name
        match step:
            case "assign":
                self.coordinator.assign(pair, name)
            case "unassign":
                self.coordinator.unassign(pair)
            case "default":
                self.coordinator.set_default(ADDRESS, name)
            case "sync":
                shard.take(self.coordinator.view(), sweep=self.chance.random() < 0.7)
            case "obey":
                told = self.coordinator.pending(name)
                if told:
                    self.obey(shard, self.chance.choice(told), 0.8)
            case "list":
                shard.lists()
            case "read":
                self.late[name] = shard.reads()
            case "arrive" if name in self.late:
                shard.arrives(self.late.pop(name))
            case "cycle":
                shard.cycle()
            case "think" if shard.state.may_decide(self.cloud.at):
                self.thoughts[name] = shard.thinks()
            case "carry out" if name in self.thoughts:
                self.thoughts.pop(name).ends()
            case "tick":
                shard.tick()
                shard.sweep()
            case "pass":
                self.cloud.pass_()
            case "wants":
                shard.wants(self.chance.randrange(6))
            case "restart":
                self.late.pop(name, None)
                self.thoughts.pop(name, None)
                again = shard.restarts()
                if self.chance.random() < 0.7:
                    again.lists()
                again.wants(self.chance.randrange(6))
            case _:
                self.transfer(step, shard)

    def obey(self, shard: Shard, pair: Pair, heard: float) -> None:
        """`heard`: how likely it is that the coordinator hears of it."""
        order = CoordinatorInstruction(
            "dom-1/unassign",
            InstructionKind.UNASSIGN_DOMAIN,
            topology_key=pair[0],
            topology_value=pair[1],
        )
        before = self.cloud.serving(shard)
        answer = shard.owned_machines.unassign(order, self.cloud.at)
        shard.obey(shard.state.taken())
        assert self.cloud.serving(shard) == before, "no cluster loses a machine in use"
        if isinstance(answer, Done) and self.chance.random() < heard:
            self.coordinator.on_given_up(shard.name, pair)

    def transfer(self, step: str, shard: Shard) -> None:
        coordinator, transfers = self.coordinator, self.coordinator.transfers
        if step == "offer":
            machine = self.chance.choice(list(self.cloud.shelf))
            coordinator.offer(shard.name, self.chance.choice(SHARDS), machine)
            return
        if not transfers:
            return
        name = self.chance.choice(list(transfers))
        moved = transfers[name]
        donor = self.cloud.shards[moved.donor]
        match step:
            case "release" if moved.state == "asked" and self.is_free(donor, moved.machine):
                donor.owned_machines.release([moved.machine], name, self.cloud.at)
                donor.obey(donor.state.taken())
                moved.state = "released"
            case "grant":
                coordinator.grant(name)
            case "cancel":
                coordinator.hold_back(name)
            case "hear of transfers" if moved.state == "cancelled":
                donor.owned_machines.readopt(name, self.cloud.at)
                donor.obey(donor.state.taken())

    def is_free(self, shard: Shard, machine: str) -> bool:
        parts = shard.state.parts
        resting = (MachineState.IDLE, MachineState.SPECULATIVE)
        return (
            shard.has(machine)
            and parts.machines.state_of(machine) in resting
            and not parts.action_checks.under_way(machine)
        )

    def check(self) -> None:
        last = self.done[-8:]
        for machine in self.cloud.shelf:
            owners = self.cloud.owners(machine)
            assert len(owners) <= 1, f"{machine} is of {owners} after {last}"
            having = self.cloud.have(machine)
            assert len(having) <= 1, f"{machine} is with {having} after {last}"

    def calm_down(self) -> None:
        """Nothing is lost any more: everything that was begun comes to its end."""
        for name in SHARDS:
            self.cloud.shards[name].wants(0)
        for name, moved in self.coordinator.transfers.items():
            self.coordinator.grant(name)
            if moved.state == "cancelled":
                donor = self.cloud.shards[moved.donor]
                donor.owned_machines.readopt(name, self.cloud.at)
                donor.obey(donor.state.taken())
        for _ in range(15):
            for name in SHARDS:
                shard = self.cloud.shards[name]
                # As operators do, again and again: demand that vanishes once is not believed.
                shard.wants(0)
                shard.take(self.coordinator.view())
                for pair in self.coordinator.pending(name):
                    self.obey(shard, pair, 1.0)
                shard.lists()
                shard.tick()
                shard.cycle()
                self.check()
            self.cloud.pass_(61)  # longer than the windows of the reclaim cap and of a zone


@pytest.mark.parametrize("seed", range(20))
def test_only_the_owner_acts_on_a_machine(seed: int) -> None:
    schedule = Schedule(seed)
    schedule.run(250)
    schedule.calm_down()
    for name in SHARDS:
        assert schedule.coordinator.pending(name) == [], "every hand-over ends"
    shards = [schedule.cloud.shards[name] for name in SHARDS]
    assert {each.ownership.revision for each in shards} == {schedule.coordinator.revision}
    inventories = [set(each.ids()) for each in shards]
    everything = set(schedule.cloud.shelf)
    assert set.union(*inventories) == everything, "nothing is forgotten"
    assert sum(map(len, inventories)) == len(everything), "inventories share nothing"
