"""A schedule: events in an order drawn from a seed, then everything comes to rest and is judged."""

from random import Random

from bigfleet.model.coordination import TransferState
from bigfleet.model.provider_calls import Rejected
from tests.coordinator_processes.events import ASKED, FAULTS, Event, FaultEvents
from tests.coordinator_processes.fleet import Fleet
from tests.coordinator_processes.laws import Laws
from tests.nightly import IS_NIGHTLY
from tests.shard_system.demand import LOW
from tests.shard_system.waiting import until_told

#: Schedules that share a fleet: a few by day, and more fleets by night.
TOGETHER = 5 if IS_NIGHTLY else 3


def seeds(group: int) -> range:
    return range(group * TOGETHER, (group + 1) * TOGETHER)


def events_of(chance: Random) -> list[Event]:
    """Every other one is asked for, so that faults fall into the middle of something."""
    events: list[Event] = []
    for _ in range(3):
        events += [chance.choice(ASKED), chance.choice(FAULTS)]
    return events


async def run_schedule(laws: Laws, seed: int) -> None:
    fleet, chance = laws.fleet, Random(seed)
    fleet.story.append(f"seed {seed}")
    befalling = FaultEvents(fleet, laws, chance)
    for event in events_of(chance):
        await event(befalling)
    await rest(fleet, laws)
    await a_short_shard_is_helped(fleet, laws, chance)
    await laws.look()
    await laws.check_journal()


async def rest(fleet: Fleet, laws: Laws) -> None:
    """There is no demand, so nothing keeps a domain from changing hands: all of it ends."""
    for operator in fleet.operators:
        await operator.wants(0, LOW)
    await until_quiet(fleet, laws)


async def a_short_shard_is_helped(fleet: Fleet, laws: Laws, chance: Random) -> None:
    """One has fewer machines than its cluster wants, the other has them idle."""
    owned = [len(await shard.machines()) for shard in fleet.shards]
    poor = owned.index(min(owned))
    wanted = {poor: owned[poor] + chance.randint(1, 3), 1 - poor: 2}
    fleet.story.append(f"{fleet.operators[poor].cluster} wants {wanted[poor]}, more than there are")
    helped = await _transfers_to(fleet, fleet.shards[poor].name)
    for number, machines in wanted.items():
        await fleet.operators[number].wants(machines, LOW)

    async def met() -> bool:
        await laws.look()
        return all(
            len(fleet.operators[number].configured()) == machines
            for number, machines in wanted.items()
        )

    await until_told(
        met, lambda: (wanted, [len(o.configured()) for o in fleet.operators], fleet.story)
    )
    await until_quiet(fleet, laws)
    assert await _transfers_to(fleet, fleet.shards[poor].name) > helped, fleet.story


async def _transfers_to(fleet: Fleet, shard: str) -> int:
    """That moved anything; they are remembered for an hour."""
    ended = await fleet.transfers()
    return sum(1 for t in ended if t.to_shard == shard and t.state is TransferState.DONE)


async def until_quiet(fleet: Fleet, laws: Laws) -> None:
    """One leads, nothing waits, and everybody is of one mind about who owns what."""
    why = ""

    async def quiet() -> bool:
        nonlocal why
        try:
            await laws.look()
            why = await why_not_quiet(fleet, laws)
        except Rejected as problem:
            why = str(problem)
        return not why

    await until_told(quiet, lambda: (why, fleet.story))


async def why_not_quiet(fleet: Fleet, laws: Laws) -> str:
    statuses = [await fleet.status(replica) for replica in fleet.replicas]
    leaders = [status for status in statuses if status is not None and status.is_leader]
    if len(leaders) != 1 or None in statuses:
        return f"not one of three leads: {statuses}"
    if pending := await fleet.admin.instructions():
        return f"instructions wait: {pending}"
    if under_way := await fleet.admin.transfers():
        return f"transfers are open: {under_way}"
    told = [status.coordinator for s in fleet.shards if (status := await s.status())]
    if {link and link.term for link in told} != {leaders[0].term}:
        return f"not everybody has heard of term {leaders[0].term}: {told}"
    return await laws.owners_agree()
