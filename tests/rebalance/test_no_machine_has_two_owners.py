"""The law of ownership over random schedules of faults.

Messages are lost on the way there or back, shards start again, leaders change, people cancel, time
jumps. After every step every machine has one owner at most; and when the faults stop, every machine
has one again.
"""

from dataclasses import replace
from random import Random

import pytest

from bigfleet.coordinator.rebalancing import transfers
from bigfleet.model.coordination import TransferState
from bigfleet.model.options import SECOND
from tests.nightly import IS_NIGHTLY
from tests.rebalance.fleets import Fleet, rules_of

#: Of twenty schedules each.
BATCHES = range(60) if IS_NIGHTLY else range(3)
RULES = rules_of(
    donor_rate=1.0,
    age_cycles=1,
    drain_age_cycles=2,
    cooldown=3.0,
    cooldown_cycles=1,
    min_stay=20.0,
    direction_lock=5.0,
    offer_ttl=15.0,
    return_after=10.0,
    decline_rest=3.0,
)


def one_step(fleet: Fleet, random: Random) -> None:
    name = random.choice(list(fleet.shards))
    shard = fleet.shards[name]
    match random.choices(
        ["talk", "report", "sync", "cycle", "sweep", "demand", "lead", "cancel", "restart", "jump"],
        [20, 15, 15, 20, 12, 6, 2, 4, 2, 1],
    )[0]:
        case "talk":
            fleet.talk(shard, rounds=random.randrange(1, 3))
        case "report":
            fleet.report(shard, lost=random.choice(("", "report", "report reply")))
        case "sync":
            fleet.sync(shard, lost=random.choice(("", "sync", "sync reply")))
        case "cycle":
            fleet.at += SECOND
            for each in fleet.shards.values():
                each.run_cycle(fleet.at)
        case "sweep":
            fleet.sweep()
        case "demand":
            fingerprint, priority = random.choice([("web", 1000), ("batch", 10)])
            fleet.demand(name, random.randrange(9), fingerprint, priority=priority)
        case "lead":
            fleet.fail_over()
        case "cancel":
            for moving in transfers.transfers(fleet.book, False, 0):
                if moving.state is not TransferState.GRANTED:
                    fleet.cancel(moving.id)
        case "restart":
            # What is on disk stays: its view, its marks, what it has done.
            shard.epoch += 1
            shard.cycle = 0
            shard.acks.clear()
            shard.answers.clear()
            shard.draining.clear()
            shard.reserved.clear()
            row = fleet.book.tables.shards.rows[name,]
            fleet.transact(lambda book, draft: draft.shards.put(replace(row, epoch=shard.epoch)))
        case "jump":
            fleet.at += random.randrange(60) * SECOND
    fleet.check()


@pytest.mark.parametrize("batch", BATCHES)
def test_no_machine_ever_has_two_owners(batch: int) -> None:
    moved = 0
    for seed in range(batch * 20, batch * 20 + 20):
        random = Random(seed)
        fleet = Fleet(RULES, a=5, b=5, c=5)
        fleet.add("a", 3, speculative=True)
        fleet.settle()
        for _ in range(250):
            one_step(fleet, random)
        fleet.run(40, every=2)
        fleet.turn_off()
        fleet.run(40, every=2)
        assert [m for m in fleet.machines if len(fleet.owners(m)) != 1] == [], f"seed {seed}"
        moved += len(fleet.moves)
    assert moved > 20, "the schedules move machines at all"
