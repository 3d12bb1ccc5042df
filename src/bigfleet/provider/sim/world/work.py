"""The steps a server asks for: decided when they begin, done when their time comes.

A step's fate (how long, whether it fails) is drawn when it begins and keyed by machine and
occurrence. Readiness runs on the host's own time from the end of Configure, so a server that asks
for it late does not make it later.
"""

from bigfleet.provider.sim.world.distributions import SECOND
from bigfleet.provider.sim.world.events import (
    AdmissionAsked,
    Failure,
    Finish,
    Instruction,
    Refuse,
    Step,
    StepAbandoned,
    StepAsked,
)
from bigfleet.provider.sim.world.hosts import make_host, schedule_end
from bigfleet.provider.sim.world.market import limit_at
from bigfleet.provider.sim.world.state import RunningStep, Substrate
from bigfleet.provider.sim.world.supply import Slot

#: An admitted create that has not begun by then was lost with its server.
_ADMISSION_LASTS = 900 * SECOND
_AT_ONCE = (Failure.STOCKOUT, Failure.QUOTA, Failure.GONE)


def admission_asked(substrate: Substrate, event: AdmissionAsked, out: list[Instruction]) -> None:
    """Refuses what is known to be in vain; no instruction: nothing stands against it."""
    slot = substrate.supply.slots.get(event.machine)
    if slot is None:
        return
    pool = slot.pool
    if event.step is Step.DELETE and pool.offering.owned:
        text = f"{pool.offering.capacity_type.label} is owned and never given back"
        out.append(Refuse(event.step, "", slot.id, Failure.ERROR, text))
    if (
        event.step is not Step.CREATE
        or pool.offering.region not in substrate.supply.quota_of_region
    ):
        return
    region = pool.offering.region
    substrate.admitted = {
        machine: at
        for machine, at in substrate.admitted.items()
        if at + _ADMISSION_LASTS > substrate.now
    }
    waiting = sum(
        1
        for machine in substrate.admitted
        if machine in substrate.supply.slots
        and substrate.supply.slots[machine].pool.offering.region == region
    )
    if substrate.supply.quota_left(region) - waiting <= 0:
        substrate.note(slot.id, "create.refused", reason="quota", region=region)
        out.append(Refuse(event.step, "", slot.id, Failure.QUOTA, _quota_text(substrate, region)))
    else:
        substrate.admitted[slot.id] = substrate.now


def asked(substrate: Substrate, event: StepAsked, out: list[Instruction]) -> None:
    key = (event.step, event.operation)
    substrate.admitted.pop(event.machine, None)
    slot = substrate.supply.slots.get(event.machine)
    if slot is None:
        text = "the slot has left the offering"
        out.append(Refuse(event.step, event.operation, event.machine, Failure.GONE, text))
        return
    if key in substrate.work:
        return
    if (ref := _done_before(slot, event)) is not None:
        out.append(Finish(event.step, event.operation, event.machine, ref))
        return
    occurrence = substrate.occurrence(event.step, slot.id)
    work = RunningStep(event.step, event.operation, slot.id, event.cluster)
    _decide(substrate, slot, work, event, occurrence)
    if event.step is Step.CREATE and work.failure not in _AT_ONCE:
        if slot.host is not None:
            _give_up_host(substrate, slot)
        substrate.count(slot.pool, +1)
        work.reserves = True
    substrate.work[key] = substrate.work_of[slot.id] = work
    nanos = _nanos(substrate, slot, work, event, occurrence)
    facts = {"cluster": event.cluster} if event.cluster else {}
    substrate.note(slot.id, f"{event.step}.began", operation=event.operation, **facts)
    if work.failure is not Failure.TIMEOUT:
        substrate.agenda.put(substrate.now + nanos, "work", event.step, event.operation)


def _done_before(slot: Slot, event: StepAsked) -> str | None:
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


def _give_up_host(substrate: Substrate, slot: Slot) -> None:
    """The server forgot this host and makes another; the slot has room for one."""
    assert slot.host is not None
    substrate.note(slot.id, "host.abandoned", host=slot.host.ref)
    slot.host = None
    substrate.agenda.drop("end", slot.id)
    substrate.count(slot.pool, -1)


def _decide(
    substrate: Substrate, slot: Slot, work: RunningStep, event: StepAsked, occurrence: int
) -> None:
    """Why the step will fail, if it will."""
    step, pool = work.step, slot.pool
    if step is not Step.CREATE and (slot.host is None or slot.host.broken):
        text = slot.host.broken if slot.host else "there is no such host"
        work.failure, work.text = Failure.GONE, text
        return
    staged = substrate.faults.take_next(slot, step, substrate.state_of)
    labelled = substrate.faults.labelled(step, slot.labels)
    if staged or labelled:
        work.failure = staged or labelled
        work.text = f"{step} was made to fail ({work.failure})"
    elif step is Step.CREATE and substrate.supply.quota_left(pool.offering.region) <= 0:
        work.failure, work.text = Failure.QUOTA, _quota_text(substrate, pool.offering.region)
    elif step is Step.CREATE and pool.hosts >= limit_at(pool.stock, substrate.age(), pool.phase):
        work.failure, work.text = Failure.STOCKOUT, f"{pool.name} has no host left"
    elif substrate.draws.chance(
        substrate.faults.rate(slot, step), f"failure/{step}", slot.id, occurrence
    ):
        work.failure, work.text = Failure.ERROR, f"{step} failed by chance"
    elif (
        step is Step.CONFIGURE
        and event.attempt == 1
        and substrate.draws.chance(
            substrate.faults.flakiness(event.cluster), "flaky", slot.id, occurrence
        )
    ):
        work.failure, work.text = Failure.RETRYABLE, f"{event.cluster} is flaky"
    if work.failure is Failure.STOCKOUT:
        work.after_seconds = substrate.rules.stockout_rest_seconds


def _nanos(
    substrate: Substrate, slot: Slot, work: RunningStep, event: StepAsked, occurrence: int
) -> int:
    if work.failure in _AT_ONCE:
        return 0
    if work.step is Step.READY:
        assert slot.host is not None
        if slot.host.ready_at is None:
            slot.host.ready_at = substrate.now + _ready_nanos(substrate, slot, event.cluster)
        return max(0, slot.host.ready_at - substrate.now)
    nanos = substrate.latency_nanos(slot, work.step, occurrence)
    return min(nanos, event.grace_seconds * SECOND) if work.step is Step.DRAIN else nanos


def _ready_nanos(substrate: Substrate, slot: Slot, cluster: str) -> int:
    slow = substrate.faults.ready_nanos(cluster)
    if slow is not None:
        return slow
    return substrate.latency_nanos(slot, "ready", substrate.occurrence("ready-time", slot.id))


def work_reached(substrate: Substrate, step: Step, operation: str, out: list[Instruction]) -> None:
    work = substrate.work.get((step, operation))
    slot = substrate.supply.slots.get(work.machine) if work else None
    if work is None or slot is None:
        return
    if substrate.faults.holds_back(slot, step, substrate.state_of):
        work.parked = True
        return
    del substrate.work[step, operation], substrate.work_of[slot.id]
    if work.failure is not None:
        if work.reserves:
            substrate.count(slot.pool, -1)
        substrate.note(slot.id, f"{step}.failed", operation=operation, reason=work.failure.value)
        out.append(Refuse(step, operation, slot.id, work.failure, work.text, work.after_seconds))
        return
    ref = _done(substrate, slot, work)
    substrate.note(slot.id, f"{step}.done", operation=operation, host=ref)
    out.append(Finish(step, operation, slot.id, ref))


def _done(substrate: Substrate, slot: Slot, work: RunningStep) -> str:
    """The change a finished step makes; gives the host's ref."""
    if work.step is Step.CREATE:
        return make_host(substrate, slot, made_by=work.operation).ref
    host = slot.host
    assert host is not None, "work on a host ends with the host"
    match work.step:
        case Step.CONFIGURE:
            host.cluster, host.bound_by, host.metadata = work.cluster, work.operation, None
            host.ready_at = substrate.now + _ready_nanos(substrate, slot, work.cluster)
            crash = substrate.faults.crash_nanos(work.cluster)
            if crash is not None:
                nanos = host.ready_at - substrate.now + crash
                schedule_end(substrate, slot, nanos, f"{work.cluster}: the host crashed")
        case Step.DRAIN:
            host.cluster, host.bound_by, host.metadata, host.ready_at = "", "", None, None
        case Step.DELETE:
            slot.host = None
            substrate.agenda.drop("end", slot.id)
            substrate.count(slot.pool, -1)
    return host.ref


def abandoned(substrate: Substrate, event: StepAbandoned) -> None:
    work = substrate.work.pop((event.step, event.operation), None)
    if work is None:
        return
    substrate.work_of.pop(work.machine, None)
    substrate.agenda.drop("work", work.step, work.operation)
    slot = substrate.supply.slots.get(work.machine)
    if work.reserves and slot is not None:
        substrate.count(slot.pool, -1)
    substrate.note(work.machine, f"{event.step}.abandoned", operation=event.operation)


def release_parked(substrate: Substrate) -> int:
    """Work that no hold keeps any more is done in the next turn."""
    freed = 0
    for work in substrate.work.values():
        slot = substrate.supply.slots.get(work.machine)
        if not work.parked or slot is None:
            continue
        if not substrate.faults.holds_back(slot, work.step, substrate.state_of):
            work.parked = False
            substrate.agenda.put(substrate.now, "work", work.step, work.operation)
            freed += 1
    return freed


def _quota_text(substrate: Substrate, region: str) -> str:
    return f"region {region} may have {substrate.supply.quota_of_region[region]:.0f} hosts"
