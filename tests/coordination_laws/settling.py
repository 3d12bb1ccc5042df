"""When the faults stop: every hand-over and transfer ends, and everybody agrees who owns what."""

from dataclasses import replace

from bigfleet.coordinator.membership.handovers import Holding
from bigfleet.model.ownership import owner_of
from bigfleet.model.provider_calls import Rejected
from tests.coordination_laws import laws
from tests.coordination_laws.laws import LawBroken
from tests.coordination_laws.provider import address_of, provider_of
from tests.coordination_laws.rig import CoordinationRig

#: Rounds of two seconds after which nothing may be under way any more.
PATIENCE = 60


async def settle(world: CoordinationRig) -> int:
    """How many rounds it took; raises LawBroken."""
    await _mend(world)
    for number in range(PATIENCE):
        await _round(world)
        if not why_unsettled(world):
            _check_agreement(world)
            return number
    raise LawBroken(laws.ENDS, why_unsettled(world))


async def _mend(world: CoordinationRig) -> None:
    """No fault is left, no Need is left, and nothing new is begun."""
    coordinators = world.coordinators
    coordinators.rulings, coordinators.is_cut, coordinators.stale = [], False, None
    world.network.clear()
    for disk in world.disks.values():
        disk.is_slow = False
        disk.fill(False)
        disk.flush()
    await world.pump()
    world.is_provider_slow = False
    for line in list(world.provider.lines):
        while line in world.provider.lines:
            world.provider.go_on(line, world.clock.now())
    for name in world.names:
        world.start(name)
        world.want(name, 0, 10)
    off = replace(coordinators.settings.rebalance, enabled=False)
    coordinators.settings = replace(coordinators.settings, rebalance=off)
    coordinators.book.settings = coordinators.settings


async def _round(world: CoordinationRig) -> None:
    world.wait(2)
    for name in sorted(world.dead):
        world.remove(name)
    try:
        world.coordinators.tick()
        world.coordinators.sweep()
    except Rejected as problem:
        raise LawBroken(laws.ENDS, f"the leader cannot do its duty: {problem}") from problem
    for life in world.living():
        world.second(life)
        life.begin_round()
        await world.pump()
        world.check()


def why_unsettled(world: CoordinationRig) -> str:
    """What is under way; empty: nothing is."""
    book = world.coordinators.book
    tables = book.tables
    if book.merging:
        return "it is not yet known who holds what"
    waiting = list(tables.instructions.rows.values())
    if waiting:
        return f"instructions wait: {waiting}"
    holding: list[Holding] = [*tables.domains.rows.values(), *tables.defaults.rows.values()]
    if held := [row for row in holding if row.holders]:
        return f"holders are waited for: {held}"
    moving = [row.transfer for row in tables.transfers.rows.values() if row.transfer.state.open]
    if moving:
        return f"transfers are open: {moving}"
    for name, life in world.lives.items():
        row = book.shard(name)
        if row is None or life.ownership.revision < book.revision_for(row):
            return f"{name} has not the newest view"
        if life.ownership.lingering or life.ownership.released:
            return f"{name} still gives up {life.ownership.lingering} {life.ownership.released}"
        if why := _why_not_as_it_owns(world, name):
            return why
    return ""


def _why_not_as_it_owns(world: CoordinationRig, name: str) -> str:
    """Its inventory is what is its own, none of which serves a cluster any more."""
    life = world.lives[name]
    has = set(life.state.parts.machines.inventory.snapshot().ids)
    if has != {m for m in world.owners.now(life) if provider_of(m) in life.providers}:
        return f"{name} has {sorted(has)} and owns {sorted(world.owners.now(life))}"
    # What a shard that was removed has left behind serves its cluster on, and is another's.
    if bound := world.bound_to(name) & world.owners.now(life):
        return f"{sorted(bound)} still serve {name}'s cluster, which wants nothing"
    return ""


def _check_agreement(world: CoordinationRig) -> None:
    """Law: only the shard that owns a machine by the rows acts on it."""
    book = world.coordinators.book
    for machine in world.provider.shelf:
        attribute, address = world.provider.attribute(machine), address_of(machine)
        attached = [n for n, each in world.lives.items() if provider_of(machine) in each.providers]
        members = [row for name in attached if (row := book.shard(name)) is not None]
        owners = {
            owner_of(machine, attribute, address, book.view_for(row)).shard for row in members
        }
        actors = {n for n, life in world.lives.items() if machine in world.owners.now(life)}
        if len(owners) > 1 or actors != owners & set(attached):
            text = f"{machine} is {sorted(owners)}'s by the rows, and {sorted(actors)} act on it"
            raise LawBroken(laws.AGREE, text)
