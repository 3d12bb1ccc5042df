"""What may happen: each step is a name and two numbers, so that any schedule of them can be played.

Numbers choose among what is there at the moment; where there is nothing to choose, nothing happens.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from bigfleet.coordinator.membership import domains
from bigfleet.coordinator.rebalancing import transfers
from bigfleet.model.machines import MachineState
from bigfleet.model.memory import ReservationKind
from bigfleet.model.provider_calls import Rejected
from bigfleet.model.requirements import RACK_KEY, ZONE_KEY
from tests.coordination_laws import laws
from tests.coordination_laws.laws import LawBroken
from tests.coordination_laws.lives import ShardLife
from tests.coordination_laws.network import Ruling
from tests.coordination_laws.provider import CLOUD, LAB, PAIRS, PROVIDERS
from tests.coordination_laws.replicas import Commit
from tests.coordination_laws.rig import CoordinationRig

Step = tuple[str, int, int]
Player = Callable[[CoordinationRig, int, int], Awaitable[None]]
T = TypeVar("T")

#: Times that pass at once: a step, a step of a transfer, until everybody is stale, until idle
#: machines go home.
JUMPS = (1, 3, 10, 2000)
#: Machines a cluster may want, and how urgently.
AMOUNTS, PRIORITIES = (0, 0, 1, 2, 3, 5, 8, 12), (10, 1000)
#: Of a round's two calls, most of them undisturbed.
FATES = (
    (),
    (),
    (),
    (Ruling.LATE,),
    (Ruling.ANSWER_LATE,),
    (Ruling.LOST,),
    (Ruling.ANSWER_LOST,),
    (Ruling.TWICE,),
    (Ruling.ANSWERED, Ruling.LATE),
    (Ruling.ANSWERED, Ruling.ANSWER_LATE),
    (Ruling.ANSWERED, Ruling.LOST),
    (Ruling.ANSWERED, Ruling.ANSWER_LOST),
    (Ruling.ANSWERED, Ruling.TWICE),
    (Ruling.OLD_ANSWER,),
    (Ruling.ANSWERED, Ruling.OLD_ANSWER),
)
KEY_ORDERS = ((), (ZONE_KEY,), (ZONE_KEY, RACK_KEY), (RACK_KEY, ZONE_KEY))
COMMITS = (Commit.REFUSED, Commit.TAKEN_UNSEEN, Commit.LOST_UNSEEN)

PLAYERS: dict[str, Player] = {}


def step(player: Player) -> Player:
    PLAYERS[player.__name__] = player
    return player


async def play(world: CoordinationRig, name: str, one: int, two: int) -> None:
    """The step, and what follows from it; raises LawBroken."""
    await PLAYERS[name](world, one, two)
    await world.pump()
    world.check()


def _pick(among: Sequence[T], number: int) -> T | None:
    return among[number % len(among)] if among else None


def _life(world: CoordinationRig, number: int) -> ShardLife | None:
    return world.lives.get(world.names[number % len(world.names)])


def _asked(world: CoordinationRig, operation: Callable[..., object], *args: object) -> None:
    """People ask; what is refused has not happened."""
    try:
        world.coordinators.do(operation, *args)
    except Rejected:
        world.seen["refused"] += 1


# -- an ordinary day -------------------------------------------------------------------------------


@step
async def seconds(world: CoordinationRig, one: int, two: int) -> None:
    """A second for everybody."""
    world.wait(1)
    for life in world.living():
        world.second(life)


@step
async def second(world: CoordinationRig, one: int, two: int) -> None:
    """A second passes, in which one shard does something."""
    world.wait(1)
    if (life := _life(world, one)) is not None:
        world.second(life)


@step
async def rounds(world: CoordinationRig, one: int, two: int) -> None:
    """The first one of all."""
    lives = world.living()
    first = one % len(lives) if lives else 0
    for life in (*lives[first:], *lives[:first]):
        life.begin_round()
        await world.pump()


@step
async def talk(world: CoordinationRig, one: int, two: int) -> None:
    """Everybody's time and words, and the leader's: how transfers go on."""
    for turn in range(1 + two % 3):
        await seconds(world, one, two)
        await rounds(world, one + turn, two)
        world.check()
        _unasked(world, world.coordinators.sweep)


@step
async def round(world: CoordinationRig, one: int, two: int) -> None:
    """One shard's; what becomes of its calls is chosen."""
    if (life := _life(world, one)) is not None:
        world.network.rulings[life.name] = list(FATES[two % len(FATES)])
        life.begin_round()
        await world.pump()
        world.network.rulings[life.name] = []


@step
async def old_view(world: CoordinationRig, one: int, two: int) -> None:
    """One shard is told what to do, and then an answer of before once more."""
    await round(world, one, FATES.index((Ruling.ANSWERED, Ruling.OLD_ANSWER)))


@step
async def demand(world: CoordinationRig, one: int, two: int) -> None:
    name = world.names[one % len(world.names)]
    world.want(name, AMOUNTS[two % 8], PRIORITIES[two // 8 % 2])


@step
async def sweep(world: CoordinationRig, one: int, two: int) -> None:
    _unasked(world, world.coordinators.sweep)


@step
async def leader_ticks(world: CoordinationRig, one: int, two: int) -> None:
    _unasked(world, world.coordinators.tick)


@step
async def assign(world: CoordinationRig, one: int, two: int) -> None:
    key, value = PAIRS[one % len(PAIRS)]
    _asked(world, domains.assign, key, value, world.names[two % len(world.names)])


@step
async def unassign(world: CoordinationRig, one: int, two: int) -> None:
    _asked(world, domains.unassign, *PAIRS[one % len(PAIRS)])


@step
async def move(world: CoordinationRig, one: int, two: int) -> None:
    await unassign(world, one, two)
    await assign(world, one, two)


@step
async def default_owner(world: CoordinationRig, one: int, two: int) -> None:
    """Of the cloud mostly."""
    address = PROVIDERS[LAB if two % 3 == 2 else CLOUD]
    _asked(world, domains.set_default_owner, address, world.names[one % len(world.names)])


@step
async def cancel(world: CoordinationRig, one: int, two: int) -> None:
    moving = _pick(transfers.transfers(world.coordinators.book, False, 0), one)
    if moving is not None:
        _asked(world, transfers.cancel, moving.id, "a person asked for it")


@step
async def jump(world: CoordinationRig, one: int, two: int) -> None:
    world.wait(JUMPS[one % len(JUMPS)])


def _unasked(world: CoordinationRig, duty: Callable[[], None]) -> None:
    """What a leader does by itself; where its store fails, the next one comes."""
    try:
        duty()
    except Rejected:
        world.seen["duty failed"] += 1


# -- one thing after another -----------------------------------------------------------------------


@step
async def list_begins(world: CoordinationRig, one: int, two: int) -> None:
    if (life := _life(world, one)) is not None:
        for provider in life.providers:
            life.begin_list(provider, world.provider.content(provider))


@step
async def list_ends(world: CoordinationRig, one: int, two: int) -> None:
    if (life := _life(world, one)) is not None:
        for provider in life.providers:
            life.end_list(provider)


@step
async def cycle_begins(world: CoordinationRig, one: int, two: int) -> None:
    if (life := _life(world, one)) is not None:
        life.think()


@step
async def cycle_ends(world: CoordinationRig, one: int, two: int) -> None:
    if (life := _life(world, one)) is not None:
        life.decide()


@step
async def slow_provider(world: CoordinationRig, one: int, two: int) -> None:
    world.is_provider_slow = not world.is_provider_slow


@step
async def provider_goes_on(world: CoordinationRig, one: int, two: int) -> None:
    if (line := _pick(world.provider.lines, one)) is not None:
        world.provider.go_on(line, world.clock.now())


@step
async def provider_line_breaks(world: CoordinationRig, one: int, two: int) -> None:
    if (line := _pick(world.provider.lines, one)) is not None:
        world.provider.lose(line)


@step
async def message_goes_on(world: CoordinationRig, one: int, two: int) -> None:
    if (call := _pick(world.network.calls, one)) is not None:
        world.network.go_on(call)


@step
async def deadline(world: CoordinationRig, one: int, two: int) -> None:
    world.network.expire(world.names[one % len(world.names)])


# -- shards fail -----------------------------------------------------------------------------------


@step
async def crash(world: CoordinationRig, one: int, two: int) -> None:
    """It is started again at once, or by and by."""
    name = world.names[one % len(world.names)]
    world.crash(name, written=bool(two & 1), arrives=bool(two & 2))
    if two & 4:
        world.start(name)


@step
async def lose_disk(world: CoordinationRig, one: int, two: int) -> None:
    """Its file is gone, as people are told it may be; which life it lives is kept elsewhere."""
    name = world.names[one % len(world.names)]
    world.crash(name, written=bool(two & 1), arrives=bool(two & 2))
    world.forget(name)
    world.start(name)


@step
async def attach(world: CoordinationRig, one: int, two: int) -> None:
    """It is started again with the lab, or without it."""
    name = world.names[one % len(world.names)]
    world.crash(name, written=bool(two & 1), arrives=bool(two & 2))
    world.attached[name] = (CLOUD,) if LAB in world.attached[name] else (CLOUD, LAB)
    world.start(name)


@step
async def start(world: CoordinationRig, one: int, two: int) -> None:
    world.start(world.names[one % len(world.names)])


@step
async def slow_disk(world: CoordinationRig, one: int, two: int) -> None:
    disk = world.disks[world.names[one % len(world.names)]]
    disk.is_slow = not disk.is_slow


@step
async def disk_writes(world: CoordinationRig, one: int, two: int) -> None:
    world.disks[world.names[one % len(world.names)]].flush()


@step
async def disk_gives_up(world: CoordinationRig, one: int, two: int) -> None:
    world.disks[world.names[one % len(world.names)]].give_up()


@step
async def full_disk(world: CoordinationRig, one: int, two: int) -> None:
    disk = world.disks[world.names[one % len(world.names)]]
    disk.fill(not disk.trouble)
    disk.flush()


@step
async def cut_off(world: CoordinationRig, one: int, two: int) -> None:
    """A shard's lines to every coordinator, cut or mended."""
    world.network.cut ^= {world.names[one % len(world.names)]}


@step
async def dies(world: CoordinationRig, one: int, two: int) -> None:
    """For good, unless it is the last; people say so some time later."""
    name = world.names[one % len(world.names)]
    if len(world.dead) + 1 < len(world.names):
        world.crash(name, written=bool(two & 1), arrives=bool(two & 2))
        world.dead.add(name)


@step
async def remove_dead(world: CoordinationRig, one: int, two: int) -> None:
    name = _pick(sorted(world.dead), one)
    if name is not None:
        world.remove(name)


@step
async def rejoin(world: CoordinationRig, one: int, two: int) -> None:
    """Under the name of one that was removed, with an empty disk."""
    name = _pick(sorted(world.dead), one)
    if name is not None:
        world.rejoin(name)


@step
async def alone(world: CoordinationRig, one: int, two: int) -> None:
    """Law: cut off from every coordinator, a shard serves its cluster with what it has."""
    life = _life(world, one)
    if life is None or life.ownership.view is None or world.is_provider_slow:
        return
    was_cut = life.name in world.network.cut
    world.network.cut.add(life.name)
    await _pass_second(world, life)
    free = _free(life)
    wanted = min(2, len(free) + len(world.bound_to(life.name)))
    world.want(life.name, wanted, 1000)
    for _ in range(6):
        await _pass_second(world, life)
    if not was_cut:
        world.network.cut.discard(life.name)
    if len(world.bound_to(life.name)) < wanted:
        text = f"{life.name} wants {wanted} and has {sorted(world.bound_to(life.name))}"
        raise LawBroken(laws.DECIDES, f"{text}, with {sorted(free)} free")
    world.seen["alone"] += 1


async def _pass_second(world: CoordinationRig, life: ShardLife) -> None:
    world.wait(1)
    world.second(life)
    life.begin_round()
    await world.pump()
    world.check()


def _free(life: ShardLife) -> list[str]:
    """Machines that nothing keeps from being used."""
    parts, reserved = life.state.parts, life.state.decision_loop.memory.reservations
    kept = {m for m, r in reserved.items() if r.kind is not ReservationKind.PREEMPTION}
    return [
        machine
        for machine in life.state.parts.machines.inventory.snapshot().ids
        if parts.machines.state_of(machine) is MachineState.IDLE
        and parts.reconciler.is_owned(machine)
        and not parts.action_checks.under_way(machine)
        and machine not in kept
    ]


# -- coordinators fail -----------------------------------------------------------------------------


@step
async def fail_over(world: CoordinationRig, one: int, two: int) -> None:
    world.coordinators.fail_over()


@step
async def other_keys(world: CoordinationRig, one: int, two: int) -> None:
    """A replica leads whose settings ask keys in another order."""
    world.coordinators.keys = KEY_ORDERS[one % len(KEY_ORDERS)]
    world.coordinators.fail_over()


@step
async def stale_leader_ends(world: CoordinationRig, one: int, two: int) -> None:
    world.coordinators.stale = None


@step
async def commit_fails(world: CoordinationRig, one: int, two: int) -> None:
    world.coordinators.rulings.append(COMMITS[one % len(COMMITS)])


@step
async def store_out_of_reach(world: CoordinationRig, one: int, two: int) -> None:
    world.coordinators.is_cut = not world.coordinators.is_cut


@step
async def save(world: CoordinationRig, one: int, two: int) -> None:
    world.snapshots.append(world.coordinators.snapshot())


@step
async def restore(world: CoordinationRig, one: int, two: int) -> None:
    """A snapshot that knows everybody: whom it does not know must come back within three report
    intervals, and a schedule may keep a shard away for longer."""
    rows = _pick(world.snapshots, one)
    if rows is not None and all(f"shards/{name}" in rows for name in world.names_alive()):
        world.coordinators.restore(rows)
        # The same once more would begin with a term that shards have seen the end of.
        world.snapshots.clear()
        world.seen["restored"] += 1
