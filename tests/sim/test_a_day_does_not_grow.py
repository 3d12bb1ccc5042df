"""A day of stepped time: everything happens, nothing piles up."""

from collections.abc import Iterator

from bigfleet.model.machines import CapacityType
from bigfleet.provider.sim.world.distributions import HOUR, MINUTE
from bigfleet.provider.sim.world.events import Step
from bigfleet.provider.sim.world.offerings import offering
from bigfleet.provider.sim.world.state import EventLog, Substrate
from tests.sim.handles import SimHandle, hand

SLOTS = 60
NEXT = {
    "speculative": Step.CREATE,
    "idle": Step.CONFIGURE,
    "configured": Step.DRAIN,
}


def sizes(substrate: Substrate) -> dict[str, int]:
    pools = substrate.supply.pools.values()
    return {
        "agenda": len(substrate.agenda),
        "heap": len(substrate.agenda._heap),
        "work": len(substrate.work),
        "work_of": len(substrate.work_of),
        "occurrences": len(substrate.occurrences),
        "doomed": sum(len(p.interruptions.doomed) + len(p.crashes.doomed) for p in pools),
        "notes": len(substrate.notes),
        "admitted": len(substrate.admitted),
    }


def busy_hours(sim: SimHandle, hours: int) -> Iterator[dict[str, int]]:
    """Every ten minutes each machine at rest is moved one step on; now and then one is deleted."""
    machines = sorted(sim.substrate.supply.slots)
    for hour in range(hours):
        for tenth in range(6):
            for number, machine in enumerate(machines):
                step = NEXT.get(sim.state(machine))
                if step is Step.CONFIGURE and (number + hour + tenth) % 3 == 0:
                    step = Step.DELETE
                if step is not None:
                    sim.ask(step, machine, "shop")
            sim.wait("10m")
        yield sizes(sim.substrate)


def test_a_busy_day_leaves_no_more_behind_than_a_busy_hour() -> None:
    spot = offering("std-2", CapacityType.SPOT, "a", SLOTS, id_prefix="sp", crash_rate=0.02)
    sim = hand(spot)
    sim.do("failure-rate", "create", "0.05")
    hourly = list(busy_hours(sim, 24))
    assert len(sim.events("host.ended")) > 100
    assert len(sim.events("create.done")) > 500
    warm, last = hourly[3], hourly[-1]
    bound = {
        "agenda": 2 * SLOTS + 10,
        "heap": 4 * SLOTS + 100,
        "work": SLOTS,
        "work_of": SLOTS,
        "occurrences": warm["occurrences"] + SLOTS,
        "doomed": 4 * SLOTS + 200,
        "notes": 0,
        "admitted": SLOTS,
    }
    assert {name: size for name, size in last.items() if size > bound[name]} == {}


def test_an_idle_month_is_only_prices() -> None:
    sim = hand()
    sim.wait("720h")
    assert {note.event for note in sim.log} == {"price"}
    assert sim.substrate.age() == 720 * HOUR
    assert len(sim.substrate.agenda) == 1


def test_the_log_keeps_the_last_lines_and_counts_all() -> None:
    sim = hand()
    sim.wait("240h")
    log = EventLog(kept=100)
    log.add(sim.log)
    log.seal(sim.substrate.now + MINUTE)
    kept = log.after(0, 1_000)
    assert len(kept) == 100
    assert kept[-1][0] == log.count == len(sim.log)
