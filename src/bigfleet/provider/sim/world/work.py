"""The steps a server asks for: decided when they begin, done when their time comes.

A step's fate (how long, whether it fails) is drawn when it begins and keyed by machine and
occurrence. Readiness runs on the host's own time from the end of Configure, so a server that asks
for it late does not make it later.
"""

from bigfleet.provider.sim.world.durations import SECOND
from bigfleet.provider.sim.world.happenings import (
    Abandoned,
    AdmissionAsked,
    Asked,
    Failure,
    Finish,
    Instruction,
    Refuse,
    Step,
)
from bigfleet.provider.sim.world.hosts import make_host, schedule_end
from bigfleet.provider.sim.world.state import Work, World
from bigfleet.provider.sim.world.stock import limit_at
from bigfleet.provider.sim.world.supply import Slot

#: An admitted create that has not begun by then was lost with its server.
_ADMISSION_LASTS = 900 * SECOND
_AT_ONCE = (Failure.STOCKOUT, Failure.QUOTA, Failure.GONE)


def admission_asked(world: World, event: AdmissionAsked, out: list[Instruction]) -> None:
    """Refuses what is known to be in vain; no instruction: nothing stands against it."""
    slot = world.supply.slots.get(event.machine)
    if slot is None:
        return
    pool = slot.pool
    if event.step is Step.DELETE and pool.offering.owned:
        text = f"{pool.offering.capacity_type.label} is owned and never given back"
        out.append(Refuse(event.step, "", slot.id, Failure.ERROR, text))
    if event.step is not Step.CREATE or pool.offering.region not in world.supply.quota_of_region:
        return
    region = pool.offering.region
    world.admitted = {
        machine: at for machine, at in world.admitted.items() if at + _ADMISSION_LASTS > world.now
    }
    waiting = sum(
        1
        for machine in world.admitted
        if machine in world.supply.slots
        and world.supply.slots[machine].pool.offering.region == region
    )
    if world.supply.quota_left(region) - waiting <= 0:
        world.note(slot.id, "create.refused", reason="quota", region=region)
        out.append(Refuse(event.step, "", slot.id, Failure.QUOTA, _quota_text(world, region)))
    else:
        world.admitted[slot.id] = world.now


def asked(world: World, event: Asked, out: list[Instruction]) -> None:
    key = (event.step, event.operation)
    world.admitted.pop(event.machine, None)
    slot = world.supply.slots.get(event.machine)
    if slot is None:
        text = "the slot has left the offering"
        out.append(Refuse(event.step, event.operation, event.machine, Failure.GONE, text))
        return
    if key in world.work:
        return
    if (ref := _done_before(slot, event)) is not None:
        out.append(Finish(event.step, event.operation, event.machine, ref))
        return
    occurrence = world.occurrence(event.step, slot.id)
    work = Work(event.step, event.operation, slot.id, event.cluster)
    _decide(world, slot, work, event, occurrence)
    if event.step is Step.CREATE and work.failure not in _AT_ONCE:
        if slot.host is not None:
            _give_up_host(world, slot)
        world.supply.count(slot.pool, +1)
        work.reserves = True
    world.work[key] = world.work_of[slot.id] = work
    nanos = _nanos(world, slot, work, event, occurrence)
    facts = {"cluster": event.cluster} if event.cluster else {}
    world.note(slot.id, f"{event.step}.began", operation=event.operation, **facts)
    if work.failure is not Failure.TIMEOUT:
        world.agenda.put(world.now + nanos, "work", event.step, event.operation)


def _done_before(slot: Slot, event: Asked) -> str | None:
    """The host's ref if this very step is already done; a repeat then answers at once."""
    host = slot.host
    match event.step:
        case Step.CREATE if host is not None and host.made_by == event.operation:
            return host.ref
        case Step.CONFIGURE if host is not None and host.bound_by == event.operation:
            return host.ref
        case Step.DELETE if host is None:
            return ""
        case _:
            return None


def _give_up_host(world: World, slot: Slot) -> None:
    """The server forgot this host and makes another; the slot has room for one."""
    assert slot.host is not None
    world.note(slot.id, "host.abandoned", host=slot.host.ref)
    slot.host = None
    world.agenda.drop("end", slot.id)
    world.supply.count(slot.pool, -1)


def _decide(world: World, slot: Slot, work: Work, event: Asked, occurrence: int) -> None:
    """Why the step will fail, if it will."""
    step, pool = work.step, slot.pool
    if step is not Step.CREATE and (slot.host is None or slot.host.broken):
        text = slot.host.broken if slot.host else "there is no such host"
        work.failure, work.text = Failure.GONE, text
        return
    staged = world.faults.take_next(slot, step, world.state_of)
    labelled = world.faults.labelled(step, slot.labels)
    if staged or labelled:
        work.failure = staged or labelled
        work.text = f"{step} was made to fail ({work.failure})"
    elif step is Step.CREATE and world.supply.quota_left(pool.offering.region) <= 0:
        work.failure, work.text = Failure.QUOTA, _quota_text(world, pool.offering.region)
    elif step is Step.CREATE and pool.hosts >= limit_at(pool.stock, world.age(), pool.phase):
        work.failure, work.text = Failure.STOCKOUT, f"{pool.name} has no host left"
    elif world.draws.chance(world.faults.rate(slot, step), f"failure/{step}", slot.id, occurrence):
        work.failure, work.text = Failure.ERROR, f"{step} failed by chance"
    elif (
        step is Step.CONFIGURE
        and event.attempt == 1
        and world.draws.chance(world.faults.flakiness(event.cluster), "flaky", slot.id, occurrence)
    ):
        work.failure, work.text = Failure.RETRYABLE, f"{event.cluster} is flaky"
    if work.failure is Failure.STOCKOUT:
        work.after_seconds = world.rules.stockout_rest_seconds


def _nanos(world: World, slot: Slot, work: Work, event: Asked, occurrence: int) -> int:
    if work.failure in _AT_ONCE:
        return 0
    if work.step is Step.READY:
        assert slot.host is not None
        if slot.host.ready_at is None:
            slot.host.ready_at = world.now + _ready_nanos(world, slot, event.cluster)
        return max(0, slot.host.ready_at - world.now)
    nanos = world.latency_nanos(slot, work.step, occurrence)
    return min(nanos, event.grace_seconds * SECOND) if work.step is Step.DRAIN else nanos


def _ready_nanos(world: World, slot: Slot, cluster: str) -> int:
    slow = world.faults.ready_nanos(cluster)
    if slow is not None:
        return slow
    return world.latency_nanos(slot, "ready", world.occurrence("ready-time", slot.id))


def work_reached(world: World, step: Step, operation: str, out: list[Instruction]) -> None:
    work = world.work.get((step, operation))
    slot = world.supply.slots.get(work.machine) if work else None
    if work is None or slot is None:
        return
    if world.faults.holds_back(slot, step, world.state_of):
        work.parked = True
        return
    del world.work[step, operation], world.work_of[slot.id]
    if work.failure is not None:
        if work.reserves:
            world.supply.count(slot.pool, -1)
        world.note(slot.id, f"{step}.failed", operation=operation, reason=work.failure.value)
        out.append(Refuse(step, operation, slot.id, work.failure, work.text, work.after_seconds))
        return
    ref = _done(world, slot, work)
    world.note(slot.id, f"{step}.done", operation=operation, host=ref)
    out.append(Finish(step, operation, slot.id, ref))


def _done(world: World, slot: Slot, work: Work) -> str:
    """The change a finished step makes; gives the host's ref."""
    if work.step is Step.CREATE:
        return make_host(world, slot, made_by=work.operation).ref
    host = slot.host
    assert host is not None, "work on a host ends with the host"
    match work.step:
        case Step.CONFIGURE:
            host.cluster, host.bound_by, host.metadata = work.cluster, work.operation, None
            host.ready_at = world.now + _ready_nanos(world, slot, work.cluster)
            crash = world.faults.crash_nanos(work.cluster)
            if crash is not None:
                nanos = host.ready_at - world.now + crash
                schedule_end(world, slot, nanos, f"{work.cluster}: the host crashed")
        case Step.DRAIN:
            host.cluster, host.bound_by, host.metadata, host.ready_at = "", "", None, None
        case Step.DELETE:
            slot.host = None
            world.agenda.drop("end", slot.id)
            world.supply.count(slot.pool, -1)
    return host.ref


def abandoned(world: World, event: Abandoned) -> None:
    work = world.work.pop((event.step, event.operation), None)
    if work is None:
        return
    world.work_of.pop(work.machine, None)
    world.agenda.drop("work", work.step, work.operation)
    slot = world.supply.slots.get(work.machine)
    if work.reserves and slot is not None:
        world.supply.count(slot.pool, -1)
    world.note(work.machine, f"{event.step}.abandoned", operation=event.operation)


def release_parked(world: World) -> int:
    """Work that no hold keeps any more is done in the next turn."""
    freed = 0
    for work in world.work.values():
        slot = world.supply.slots.get(work.machine)
        if not work.parked or slot is None:
            continue
        if not world.faults.holds_back(slot, work.step, world.state_of):
            work.parked = False
            world.agenda.put(world.now, "work", work.step, work.operation)
            freed += 1
    return freed


def _quota_text(world: World, region: str) -> str:
    return f"region {region} may have {world.supply.quota_of_region[region]:.0f} hosts"
