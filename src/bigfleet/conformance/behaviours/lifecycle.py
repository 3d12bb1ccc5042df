"""Lifecycle: the states a machine passes, what it carries in each, that it rests when done."""

from collections.abc import Sequence
from itertools import pairwise

from bigfleet.conformance.claims import (
    has_host,
    must,
    must_be_bound,
    must_be_clean,
    must_equal,
)
from bigfleet.conformance.contract import Check, on
from bigfleet.conformance.rows import Area
from bigfleet.conformance.trial import Trial
from bigfleet.model.machines import MachineState as S
from bigfleet.model.provider_calls import MachineRecord

LIFECYCLE = Area("Lifecycle")
ROUNDS = 4

#: A transitional state may be missed by the watcher, a stable one may not.
NEXT: dict[S, frozenset[S]] = {
    S.SPECULATIVE: frozenset({S.CREATING, S.IDLE}),
    S.CREATING: frozenset({S.IDLE}),
    S.IDLE: frozenset({S.CONFIGURING, S.CONFIGURED}),
    S.CONFIGURING: frozenset({S.CONFIGURED}),
    S.CONFIGURED: frozenset({S.DRAINING, S.IDLE}),
    S.DRAINING: frozenset({S.IDLE}),
}


def states_of(samples: Sequence[MachineRecord]) -> list[S]:
    """The states in order, without repetitions."""
    states: list[S] = []
    for sample in samples:
        if not states or states[-1] is not sample.state:
            states.append(sample.state)
    return states


async def traced_to(trial: Trial, samples: list[MachineRecord], machine: str, state: S) -> None:
    """Settled, and the watcher has seen it too."""
    await trial.settles(machine, state)
    patience = trial.patience(trial.pace.limit(15))
    while (not samples or samples[-1].state is not state) and not patience.spent():
        await trial.clock.sleep(trial.pace.watch)


def must_pass_only(samples: Sequence[MachineRecord], start: S, between: S, end: S) -> None:
    names = [state.name for state in states_of(samples)]
    legal = [[start.name, between.name, end.name], [start.name, end.name]]
    legal += [way[1:] for way in legal]
    must(names in legal, f"the way must be {' -> '.join(legal[0])}; seen {' -> '.join(names)}")


@LIFECYCLE.row(
    "B101",
    "Four rounds of Configure and Drain leave nothing behind at any Idle",
    mutant="drain keeps metadata",
    machines=1,
)
async def rounds_leave_nothing(trial: Trial) -> None:
    machine = await trial.lease_idle()
    must_be_clean(await trial.get(machine))
    for number in range(ROUNDS):
        cluster, metadata = f"b101-{number}", {"round": str(number), "bigfleet.lucy.sh/x": "1"}
        record = await trial.bind(machine, cluster, metadata)
        must_be_bound(record, cluster, metadata)
        must_be_clean(await trial.release(machine, 5))


@LIFECYCLE.row(
    "B103",
    "Configure passes only through CONFIGURING and ends CONFIGURED",
    mutant="configure shows DRAINING",
    machines=1,
)
async def configure_passes_configuring(trial: Trial) -> None:
    machine = await trial.lease_idle()
    async with trial.traced(machine) as samples:
        (await trial.configure(machine, "b103")).must_be_ok()
        await traced_to(trial, samples, machine, S.CONFIGURED)
    must_pass_only(samples, S.IDLE, S.CONFIGURING, S.CONFIGURED)


@LIFECYCLE.row(
    "B104",
    "Drain passes only through DRAINING and ends IDLE",
    mutant="drain shows CONFIGURING",
    machines=1,
)
async def drain_passes_draining(trial: Trial) -> None:
    machine = await trial.lease_configured("b104")
    async with trial.traced(machine) as samples:
        (await trial.drain(machine, 5)).must_be_ok()
        await traced_to(trial, samples, machine, S.IDLE)
    must_pass_only(samples, S.CONFIGURED, S.DRAINING, S.IDLE)


@LIFECYCLE.row(
    "B105",
    "Create, Configure and Drain take only legal steps and skip no stable state",
    mutant="Create lands in C",
    machines=1,
    slots_first=True,
    judges=(*on("Create", S.SPECULATIVE), *on("Configure", S.IDLE), *on("Drain", S.CONFIGURED)),
    order=(Check.ACCEPT,),
)
async def every_step_is_legal(trial: Trial) -> None:
    machine, slot = trial.lease_fresh()
    start = S.SPECULATIVE if slot else S.IDLE
    async with trial.traced(machine) as samples:
        await traced_to(trial, samples, machine, start)
        if slot:
            (await trial.create(machine)).must_be_ok()
            await traced_to(trial, samples, machine, S.IDLE)
        (await trial.configure(machine, "b105")).must_be_ok()
        await traced_to(trial, samples, machine, S.CONFIGURED)
        (await trial.drain(machine, 5)).must_be_ok()
        await traced_to(trial, samples, machine, S.IDLE)
    states = states_of(samples)
    must_equal(states[0], start, "first state of the trace")
    for before, after in pairwise(states):
        must(after in NEXT.get(before, ()), f"{before.name} -> {after.name} is not a legal step")


@LIFECYCLE.row(
    "B106",
    "The cluster is set from CONFIGURING on and gone at Idle",
    mutant="binding only at C",
    machines=1,
)
async def the_cluster_comes_and_goes(trial: Trial) -> None:
    machine = await trial.lease_idle()
    must_equal((await trial.get(machine)).cluster, "", "cluster at Idle")
    async with trial.traced(machine) as samples:
        (await trial.configure(machine, "b106")).must_be_ok()
        await traced_to(trial, samples, machine, S.CONFIGURED)
    for sample in samples:
        if sample.state in (S.CONFIGURING, S.CONFIGURED):
            must_equal(sample.cluster, "b106", f"cluster at {sample.state.name}")
    must_equal((await trial.release(machine)).cluster, "", "cluster at Idle after Drain")


@LIFECYCLE.row(
    "B107",
    "Host is absent at SPECULATIVE and set at IDLE and CONFIGURED",
    mutant="drain drops host",
    machines=1,
    slots_first=True,
)
async def the_host_stays_from_idle_on(trial: Trial) -> None:
    machine, slot = trial.lease_fresh()
    if slot:
        must(not has_host(await trial.get(machine)), f"{machine} is SPECULATIVE and has a host")
        (await trial.create(machine)).must_be_ok()
        await trial.settles(machine, S.IDLE)
    await hosted(trial, machine, S.IDLE)
    await trial.bind(machine, "b107")
    await hosted(trial, machine, S.CONFIGURED)
    await trial.release(machine)
    await hosted(trial, machine, S.IDLE)


async def hosted(trial: Trial, machine: str, state: S) -> None:
    record = await trial.get(machine)
    must_equal(record.state, state, f"settled state of {machine}")
    must(has_host(record), f"{machine} is {state.name} and has no host")


@LIFECYCLE.row(
    "B108",
    "A settled machine stays settled",
    mutant="machine flaps once",
    machines=1,
)
async def a_settled_machine_rests(trial: Trial) -> None:
    machine = await trial.lease_configured("b108")
    await trial.holds(machine, S.CONFIGURED, trial.pace.hold_lifecycle, closely=True)
    await trial.release(machine)
    await trial.holds(machine, S.IDLE, trial.pace.hold_lifecycle, closely=True)


@LIFECYCLE.row(
    "B109",
    "Delete passes only through DELETING and ends SPECULATIVE without a host",
    mutant="delete shows DRAINING",
    creates=1,
    gates=("delete",),
    also=("cloud",),
    judges=on("Delete", S.IDLE),
    order=(Check.ACCEPT,),
)
async def delete_passes_deleting(trial: Trial) -> None:
    machine = await trial.lease_idle()
    async with trial.traced(machine) as samples:
        (await trial.delete(machine)).must_be_ok()
        await traced_to(trial, samples, machine, S.SPECULATIVE)
    must_pass_only(samples, S.IDLE, S.DELETING, S.SPECULATIVE)
    must(not has_host(await trial.get(machine)), f"{machine} is SPECULATIVE and has a host")
