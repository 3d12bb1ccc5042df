"""The life of a host: made, interrupted, ended, mended.

The end of a host fails the work on it, and tells the server unless the host vanishes silently.
"""

from collections.abc import Mapping

from bigfleet.model.instants import instant_text
from bigfleet.model.machines import CapacityType
from bigfleet.provider.sim.world.events import (
    Failure,
    Instruction,
    Refuse,
    ReportGone,
    WarnOfEnd,
)
from bigfleet.provider.sim.world.market import Hazard
from bigfleet.provider.sim.world.state import Substrate
from bigfleet.provider.sim.world.supply import HostLife, SimPool, Slot

INTERRUPTIONS, CRASHES = "interruptions", "crashes"
_SLACK = 64


def make_host(
    substrate: Substrate,
    slot: Slot,
    made_by: str = "",
    cluster: str = "",
    metadata: Mapping[str, str] | None = None,
) -> HostLife:
    """The caller has counted the host already, or counts it."""
    slot.generation += 1
    ref = host_ref(substrate, slot.id, slot.generation)
    slot.host = HostLife(ref, substrate.now, made_by, cluster, metadata=metadata)
    if cluster:
        slot.host.ready_at = substrate.now
    enrol(substrate, slot)
    return slot.host


def enrol(substrate: Substrate, slot: Slot) -> None:
    """Draws how much hazard the host survives, where there is any."""
    for name in (INTERRUPTIONS, CRASHES):
        hazard = hazard_of(slot.pool, name)
        if hazard.rate > 0:
            survives = substrate.draws.exponential(name, slot.id, slot.generation)
            hazard.enrol(slot.id, slot.generation, survives, substrate.now)
            if len(hazard.doomed) > 2 * slot.pool.hosts + _SLACK:
                hazard.forget({(s.id, s.generation) for s in slot.pool.slots.values() if s.host})
            arm(substrate, slot.pool, name)


def hazard_of(pool: SimPool, name: str) -> Hazard:
    return pool.interruptions if name == INTERRUPTIONS else pool.crashes


def set_hazard(substrate: Substrate, pool: SimPool, name: str, rate: float) -> None:
    """A new rate; where there was none before, the hosts that exist enter with their draw."""
    hazard = hazard_of(pool, name)
    if hazard.rate == rate:
        return
    first = hazard.rate <= 0 and not hazard.doomed
    hazard.set_rate(rate, substrate.now)
    if first and rate > 0:
        for slot in pool.slots.values():
            if slot.host is not None:
                survives = substrate.draws.exponential(name, slot.id, slot.generation)
                hazard.enrol(slot.id, slot.generation, survives, substrate.now)
    arm(substrate, pool, name)


def arm(substrate: Substrate, pool: SimPool, name: str) -> None:
    at = hazard_of(pool, name).next_at()
    if at is None:
        substrate.agenda.drop("hazard", pool.name, name)
    else:
        substrate.agenda.put(max(at, substrate.now), "hazard", pool.name, name)


def hazard_reached(substrate: Substrate, pool: SimPool, name: str, out: list[Instruction]) -> None:
    for machine, generation in hazard_of(pool, name).taken(substrate.now):
        slot = pool.slots.get(machine)
        if slot is None or slot.host is None or slot.generation != generation:
            continue
        if name == INTERRUPTIONS:
            interrupt(substrate, slot, substrate.rules.notice_nanos, out)
        else:
            fail_host(substrate, slot, "the host crashed", out)
    arm(substrate, pool, name)


def interrupt(substrate: Substrate, slot: Slot, notice_nanos: int, out: list[Instruction]) -> bool:
    """A spot notice; whether it was the first for this host."""
    host = slot.host
    if host is None or host.interrupted:
        return False
    host.interrupted = True
    ends_at = substrate.now + notice_nanos
    substrate.note(slot.id, "spot.notice", ends=instant_text(ends_at), host=host.ref)
    out.append(WarnOfEnd(slot.id, ends_at))
    schedule_end(substrate, slot, notice_nanos, "spot")
    return True


def schedule_end(substrate: Substrate, slot: Slot, nanos: int, reason: str) -> None:
    """The host ends then, unless it is already to end sooner."""
    host = slot.host
    ends_at = substrate.now + nanos
    if host is None or (host.ends_at is not None and host.ends_at <= ends_at):
        return
    host.ends_at, host.end_reason = ends_at, reason
    substrate.agenda.put(ends_at, "end", slot.id)


def end_reached(substrate: Substrate, slot: Slot, out: list[Instruction]) -> None:
    host = slot.host
    if host is None or host.ends_at is None or host.ends_at > substrate.now:
        return
    if host.end_reason == "spot":
        end_host(substrate, slot, "spot", "the host was taken back", out)
    else:
        fail_host(substrate, slot, host.end_reason, out)


def fail_host(substrate: Substrate, slot: Slot, text: str, out: list[Instruction]) -> None:
    """Rented hosts are gone when they fail; owned ones stay, broken, until they are reset."""
    host = slot.host
    if host is None:
        return
    if not slot.pool.offering.owned:
        end_host(substrate, slot, "failed", text, out)
        return
    host.broken, host.cluster, host.ready_at = text, "", None
    substrate.note(slot.id, "host.failed", host=host.ref, text=text)
    _fail_work(substrate, slot, text, out)
    out.append(ReportGone(slot.id, text))


def end_host(
    substrate: Substrate,
    slot: Slot,
    reason: str,
    text: str,
    out: list[Instruction],
    *,
    silent: bool = False,
) -> None:
    host = slot.host
    if host is None:
        return
    slot.host = None
    substrate.agenda.drop("end", slot.id)
    substrate.count(slot.pool, -1)
    substrate.note(slot.id, "host.ended", host=host.ref, reason=reason, text=text)
    _fail_work(substrate, slot, text, out)
    if not silent:
        out.append(ReportGone(slot.id, text))


def mend(substrate: Substrate, slot: Slot) -> None:
    """A host is cleaned and of use again."""
    if slot.host is not None and slot.host.broken:
        substrate.note(slot.id, "host.mended", host=slot.host.ref)
        slot.host.broken = ""


def adopt(substrate: Substrate, slot: Slot, ref: str, cluster: str) -> None:
    """Puts a slot as a server remembers it from an earlier life of this process."""
    host = slot.host
    if host is not None and host.ref == ref:
        host.cluster = cluster
        host.ready_at = substrate.now if cluster else None
        return
    if host is not None:
        substrate.agenda.drop("end", slot.id)
        substrate.count(slot.pool, -1)
        slot.host = None
    if ref:
        slot.generation = _generation_of(substrate, slot, ref)
        slot.host = HostLife(ref, substrate.now, cluster=cluster)
        slot.host.ready_at = substrate.now if cluster else None
        substrate.count(slot.pool, +1)
        enrol(substrate, slot)
        substrate.note(slot.id, "host.adopted", host=ref)


def _generation_of(substrate: Substrate, slot: Slot, ref: str) -> int:
    """Which host of the slot this was: names are keyed by it, so it can be found by trying."""
    tried = range(1, 257)
    return next((g for g in tried if ref == host_ref(substrate, slot.id, g)), slot.generation + 1)


def host_ref(substrate: Substrate, machine: str, generation: int) -> str:
    return f"sim-{substrate.draws.name('host', machine, generation)}"


def _fail_work(substrate: Substrate, slot: Slot, text: str, out: list[Instruction]) -> None:
    work = substrate.work_of.pop(slot.id, None)
    if work is None:
        return
    del substrate.work[work.step, work.operation]
    substrate.agenda.drop("work", work.step, work.operation)
    if work.reserves:
        substrate.count(slot.pool, -1)
    out.append(Refuse(work.step, work.operation, slot.id, Failure.GONE, text))


def is_spot(pool: SimPool) -> bool:
    return pool.offering.capacity_type is CapacityType.SPOT
