"""Random schedules: made from a seed, played from the beginning, cut down when one breaks a law.

A schedule is a list of steps and nothing else, so that what is left of it when steps are taken out
is a schedule too.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any

from bigfleet.model.requirements import RACK_KEY, ZONE_KEY
from tests.coordination_laws.laws import LawBroken
from tests.coordination_laws.provider import CLOUD, LAB
from tests.coordination_laws.rig import CoordinationRig, EndState, empty_world
from tests.coordination_laws.settling import settle
from tests.coordination_laws.steps import AMOUNTS, PLAYERS, PRIORITIES, Step, play

#: A step's name and how often it comes.
Weights = dict[str, int]

ORDINARY: Weights = {
    "seconds": 3,
    "second": 5,
    "rounds": 5,
    "talk": 4,
    "round": 16,
    "old_view": 1,
    "demand": 6,
    "sweep": 4,
    "leader_ticks": 2,
    "assign": 4,
    "unassign": 2,
    "move": 5,
    "default_owner": 1,
    "cancel": 1,
    "jump": 1,
    "message_goes_on": 6,
    "deadline": 2,
}
#: Everything within a shard comes apart.
PIECES: Weights = {
    "list_begins": 5,
    "list_ends": 4,
    "cycle_begins": 4,
    "cycle_ends": 4,
    "slow_provider": 2,
    "provider_goes_on": 7,
    "provider_line_breaks": 1,
    "alone": 1,
}
SHARD_FAULTS: Weights = {
    "crash": 5,
    "start": 6,
    "slow_disk": 3,
    "disk_writes": 4,
    "disk_gives_up": 3,
    "full_disk": 2,
    "lose_disk": 1,
    "attach": 1,
    "cut_off": 2,
    "alone": 1,
    "slow_provider": 1,
    "provider_goes_on": 3,
}
LEADER_FAULTS: Weights = {
    "fail_over": 4,
    "other_keys": 1,
    "stale_leader_ends": 2,
    "commit_fails": 5,
    "store_out_of_reach": 1,
    "cut_off": 1,
    "crash": 1,
    "start": 1,
    "save": 2,
    "restore": 1,
}
#: Machines move much, and domains little.
TRANSFERS: Weights = ORDINARY | {
    "talk": 16,
    "demand": 9,
    "cancel": 3,
    "move": 1,
    "assign": 1,
    "unassign": 1,
    "crash": 2,
    "lose_disk": 1,
    "start": 3,
    "slow_disk": 2,
    "disk_writes": 2,
    "disk_gives_up": 2,
    "fail_over": 1,
    "commit_fails": 2,
    "jump": 2,
}
KINDS: Mapping[str, Weights] = {
    "pieces": ORDINARY | PIECES,
    "transfers": TRANSFERS,
    "shards fail": ORDINARY | SHARD_FAULTS,
    "leaders fail": ORDINARY | LEADER_FAULTS,
    "everything": ORDINARY
    | PIECES
    | LEADER_FAULTS
    | SHARD_FAULTS
    | {"dies": 1, "remove_dead": 2, "rejoin": 1, "lose_disk": 1, "attach": 1, "other_keys": 1},
}
assert all(set(weights) <= PLAYERS.keys() for weights in KINDS.values())


@dataclass(frozen=True, slots=True)
class ScheduleStart:
    """How a world came to be as it is when a schedule begins."""

    shards: int
    #: In which order keys of domains are asked.
    keys: tuple[str, ...]
    steps: tuple[Step, ...] = ()
    #: Which everybody has.
    providers: tuple[str, ...] = (CLOUD,)


_TALK: Step = ("talk", 0, 2)
_SETTLED = (_TALK, _TALK)
#: A zone each, and one shard for the rest.
_ZONES: tuple[Step, ...] = (("assign", 0, 0), ("assign", 1, 1), ("default_owner", 2, 0))


def _wants(shard: int, machines: int, priority: int) -> Step:
    return "demand", shard, AMOUNTS.index(machines) + 8 * PRIORITIES.index(priority)


PASTS: tuple[ScheduleStart, ...] = (
    # One has everything, others want a part of it.
    ScheduleStart(2, (), (*_SETTLED, _wants(1, 3, 1000))),
    ScheduleStart(3, (), (*_SETTLED, _wants(1, 3, 1000), _wants(2, 2, 10), _TALK)),
    # All of it serves a less urgent Need.
    ScheduleStart(3, (), (*_SETTLED, _wants(0, 12, 10), *_SETTLED, _wants(1, 2, 1000), _TALK)),
    # Machines have moved, and one who has some wants them no more.
    ScheduleStart(
        3, (), (*_SETTLED, _wants(1, 3, 1000), *(_TALK,) * 5, _wants(2, 2, 1000), _wants(1, 0, 10))
    ),
    # They have stood idle for so long that they go home.
    ScheduleStart(
        3,
        (ZONE_KEY,),
        (*_SETTLED, _wants(1, 3, 1000), *(_TALK,) * 5, _wants(1, 0, 10), *_SETTLED, ("jump", 3, 0)),
    ),
    ScheduleStart(3, (ZONE_KEY, RACK_KEY), (*_SETTLED, *_ZONES, *_SETTLED, _wants(0, 5, 1000))),
    # Domains of two keys, the smaller asked first.
    ScheduleStart(3, (RACK_KEY, ZONE_KEY), (*_SETTLED, *_ZONES, ("assign", 2, 2), *_SETTLED)),
    # Everybody has two providers.
    ScheduleStart(3, (), (*_SETTLED, ("attach", 2, 4), ("assign", 2, 1), *_SETTLED), (CLOUD, LAB)),
    ScheduleStart(4, (RACK_KEY,), (*_SETTLED, ("assign", 2, 1), ("assign", 3, 3), *_SETTLED)),
)


#: Those in which machines of other homes stand idle.
GUESTS = PASTS[4:5]


@dataclass(frozen=True, slots=True)
class Schedule:
    past: ScheduleStart
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class PlayedSchedule:
    #: None: every law held.
    broken: LawBroken | None
    seen: Counter[str]


def schedule_of(
    seed: int, weights: Weights, length: int, pasts: Sequence[ScheduleStart] = PASTS
) -> Schedule:
    random = Random(seed)
    names = random.choices(list(weights), list(weights.values()), k=length)
    steps = tuple((name, random.randrange(256), random.randrange(256)) for name in names)
    return Schedule(random.choice(pasts), steps)


_EVENINGS: dict[ScheduleStart, EndState] = {}


async def evening_of(past: ScheduleStart) -> EndState:
    """Played once; everything after it begins there."""
    if past not in _EVENINGS:
        world = CoordinationRig(empty_world(past.shards, past.keys, past.providers))
        world.begin()
        for each in past.steps:
            await play(world, *each)
        _EVENINGS[past] = world.evening()
        for life in world.living():
            life.die()
    return _EVENINGS[past]


async def played(schedule: Schedule, *, settles: bool) -> PlayedSchedule:
    world = CoordinationRig(await evening_of(schedule.past))
    broken: LawBroken | None = None
    try:
        world.begin()
        for each in schedule.steps:
            await play(world, *each)
        if settles:
            world.seen["settled"] += await settle(world)
    except LawBroken as problem:
        broken = problem
    finally:
        for life in world.living():
            life.die()
    return PlayedSchedule(broken, world.seen)


@contextmanager
def rig() -> Iterator[Callable[[Schedule, bool], PlayedSchedule]]:
    """Plays schedules, one after another, in a loop without threads."""
    with asyncio.Runner() as runner:
        runner.get_loop().set_default_executor(_Inline())
        yield lambda schedule, settles: runner.run(played(schedule, settles=settles))


def shortened(
    schedule: Schedule, law: str, play_it: Callable[[Schedule, bool], PlayedSchedule]
) -> Schedule:
    """As few steps as break the same law."""

    def breaks(steps: Sequence[Step]) -> bool:
        broken = play_it(Schedule(schedule.past, tuple(steps)), True).broken
        return broken is not None and broken.law == law

    steps, size = list(schedule.steps), len(schedule.steps) // 2
    while size:
        place = 0
        while place < len(steps):
            left = steps[:place] + steps[place + size :]
            if breaks(left):
                steps = left
            else:
                place += size
        size //= 2
    return Schedule(schedule.past, tuple(steps))


class _Inline(ThreadPoolExecutor):
    """Does everything at once, in the thread that asks."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        done: Future[Any] = Future()
        try:
            done.set_result(fn(*args, **kwargs))
        except Exception as problem:  # noqa: BLE001 - the caller is told
            done.set_exception(problem)
        return done
