"""Scale and soak: the same contract with thousands of machines, for a while, and fast enough."""

import asyncio
from collections.abc import Awaitable, Callable

from bigfleet.conformance.behaviours.fields import must_have_sane_costs
from bigfleet.conformance.behaviours.listing import followed, must_be_quiet
from bigfleet.conformance.claims import must, must_be_clean, must_equal
from bigfleet.conformance.launchers import Boot
from bigfleet.conformance.pace import TRIES, Call, best_p99, timed
from bigfleet.conformance.rows import Area
from bigfleet.conformance.trial import Trial
from bigfleet.model.machines import CapacityType
from bigfleet.model.machines import MachineState as S
from bigfleet.model.provider_calls import ListCall, Token
from bigfleet.wire.provider_client import ProviderClient

SCALE = Area("Scale and soak", suite="scale", runs_on="scale", profiles=("scale",), exclusive=True)
CREW = 8
CHANGED = 20
PAGE = 500
BURST = 16
GETS, CREATES, LISTS = 120, 60, 120
GET_P99, CREATE_P99, LIST_P99 = 0.250, 0.250, 2.0
LONGEST_LIST = 3.0
LISTS_TIMED, LISTS_SECONDS = 12, 1.0
#: Four times the machines may take up to six times the time, not sixteen.
GROWTH = 6.0
#: A ratio counts against the provider only if it is too high so often.
COMPARISONS = 3
#: Of each machine in a soak, if they can be done in this many times its length on top.
FEWEST_ROUNDS, MOST_OVERTIME = 15, 3


@SCALE.row(
    "B1101", "The full List is full and every record is whole", mutant="List silently capped"
)
async def the_list_is_full(trial: Trial) -> None:
    records = (await trial.listing()).records
    seed = trial.settings.scale_seed
    must(len(records) >= seed, f"{seed} machines were seeded, List holds {len(records)}")
    must_have_sane_costs(records)
    for record in records:
        whole = record.id and record.instance_type and record.zone
        must(bool(whole), f"{record.id} lacks id, type or zone")
        must(record.state is not S.UNSPECIFIED, f"{record.id} has no state")
        must(record.capacity_type is not CapacityType.UNSPECIFIED, f"{record.id} has no capacity")


@SCALE.row(
    "B1102",
    "20 changes make a delta of 20",
    mutant="delta has neighbours",
    machines=CHANGED,
    gates=("since_revision",),
)
async def deltas_are_exact(trial: Trial) -> None:
    machines = await trial.lease_idles(CHANGED)
    before = await trial.listing()
    await asyncio.gather(*(trial.bind(machine, "b1102") for machine in machines))
    delta = await trial.listing(since=before.revision)
    missing = set(machines) - set(delta.ids)
    must(not missing, f"the delta lacks {sorted(missing)}")
    others = [record for record in delta.records if record.id not in machines]
    if trial.settings.original:
        must(not others, f"the delta holds {len(others)} machines that were not touched")
    must_be_quiet(before.by_id(), others)


@SCALE.row("B1103", "Pages over the whole fleet repeat nothing", mutant="page repeats a record")
async def pages_repeat_nothing(trial: Trial) -> None:
    fleet = set((await trial.listing()).ids)
    cap = min(PAGE, max(1, len(fleet) // 4))
    pages = await followed(trial, b"", cap, pages=len(fleet) // cap + 64)
    seen = [machine for page in pages for machine in page]
    must(len(set(seen)) == len(seen), f"{len(seen) - len(set(seen))} machines came twice")
    must(set(seen) <= fleet, "a page holds a machine the full List does not know")
    if len(pages) > 1:
        must_equal(len(set(seen)), len(fleet), "machines over all pages")


async def soaked(
    trial: Trial, machines: list[str], round_of: Callable[[str], Awaitable[None]]
) -> int:
    """Rounds done by all machines together until the soak is over."""
    end = trial.clock.now() + trial.settings.soak
    latest = end + MOST_OVERTIME * trial.settings.soak

    async def work(machine: str) -> int:
        rounds = 0
        # A busy machine soaks longer, or few rounds would pass for many.
        while trial.clock.now() < (latest if rounds < FEWEST_ROUNDS else end) or not rounds:
            await round_of(machine)
            rounds += 1
        return rounds

    return sum(await asyncio.gather(*(work(machine) for machine in machines)))


@SCALE.row(
    "B1104",
    "Machines stay clean through a soak of Configure and Drain",
    mutant="leak every 100th drain",
    machines=CREW,
    longest=300,
)
async def soak_of_assignments(trial: Trial) -> None:
    async def one_round(machine: str) -> None:
        await trial.bind(machine, "b1104", {"soak": machine})
        must_be_clean(await trial.release(machine))

    rounds = await soaked(trial, await trial.lease_idles(CREW), one_round)
    trial.notes["rounds"] = rounds


@SCALE.row(
    "B1105",
    "A soak of Create and Delete loses no slot",
    mutant="delete loses slot",
    creates=CREW,
    longest=300,
)
async def soak_of_machines(trial: Trial) -> None:
    fleet = len((await trial.listing()).records)
    machines = [trial.lease_speculative() for _ in range(CREW)]
    created = deleted = 0

    async def one_round(machine: str) -> None:
        nonlocal created, deleted
        if (await trial.get(machine)).state is S.SPECULATIVE:
            (await trial.create(machine)).must_be_ok()
            await trial.settles(machine, S.IDLE)
            created += 1
        elif trial.can.delete:
            (await trial.delete(machine)).must_be_ok()
            await trial.settles(machine, S.SPECULATIVE)
            deleted += 1
        else:
            await trial.clock.sleep(trial.pace.poll)

    await soaked(trial, machines, one_round)
    after = await trial.listing()
    resident = [r.id for r in after.records if r.id in machines and r.state is S.IDLE]
    must_equal(len(resident), created - deleted, "machines created and not deleted")
    must_equal(len(after.records), fleet, "size of the fleet after the soak")


@SCALE.row(
    "B1106",
    "Get, Create and List answer in time",
    mutant="300 ms added to Get",
    creates=CREATES * TRIES + 1,
    longest=600,
)
async def answers_come_in_time(trial: Trial) -> None:
    async def create() -> None:
        (await trial.create(trial.lease_speculative())).must_be_ok()

    async def fetch() -> bytes:
        return await trial.client.list_bytes(ListCall())

    effort, seen = trial.settings.effort, trial.lease_speculative()

    async def p99(count: int, call: Call, enough: float) -> float:
        calls = max(3, round(count * effort))
        return await best_p99(lambda: timed(trial.clock, calls, call), enough)

    gets = await p99(GETS, lambda: trial.get(seen), GET_P99)
    creates = await p99(CREATES, create, CREATE_P99)
    lists = await p99(LISTS, fetch, LIST_P99)
    trial.notes["p99_ms"] = {
        "Get": round(gets * 1000, 1),
        "Create": round(creates * 1000, 1),
        "List": round(lists * 1000, 1),
    }
    must(gets <= GET_P99, f"p99 of Get must be <= 250 ms; it is {gets * 1000:.0f} ms")
    must(creates <= CREATE_P99, f"p99 of Create must be <= 250 ms; it is {creates * 1000:.0f} ms")
    must(lists <= LIST_P99, f"p99 of List must be <= 2 s; it is {lists:.2f} s")


@SCALE.row(
    "B1107", "List grows with the fleet, not with its square", mutant="quadratic List", boots=True
)
async def lists_grow_linearly(trial: Trial) -> None:
    seed = trial.settings.scale_seed
    if trial.running is not None:  # a target: nothing smaller to compare with
        must_be_quick(await fastest_list(trial, trial.client))
        return
    ratio = await growth(trial, seed)
    for _ in range(COMPARISONS - 1):
        if ratio > GROWTH:
            ratio = min(ratio, await growth(trial, seed))
    trial.notes["growth"] = round(ratio, 2)
    must(ratio <= GROWTH, f"4 x the machines took {ratio:.1f} x the time")


async def growth(trial: Trial, seed: int) -> float:
    whole = await booted_list(trial, seed)
    must_be_quick(whole)
    quarter = await booted_list(trial, seed // 4)
    # Under a millisecond the connection is measured, not the List.
    return whole / max(quarter, 0.001)


def must_be_quick(seconds: float) -> None:
    must(seconds <= LONGEST_LIST, f"a full List must take <= 3 s; it took {seconds:.2f} s")


async def booted_list(trial: Trial, seed_count: int) -> float:
    running, caller = await trial.boot(Boot("scale", seed_count=seed_count))
    fastest = await fastest_list(trial, caller.client)
    await running.kill()
    return fastest


async def fastest_list(trial: Trial, client: ProviderClient) -> float:
    times = await timed(
        trial.clock, LISTS_TIMED, lambda: client.list_bytes(ListCall()), LISTS_SECONDS
    )
    return times[0]


@SCALE.row(
    "B1108",
    "16 Creates at once have 16 ids and all arrive",
    mutant="ids from clock ms",
    creates=BURST,
)
async def a_burst_of_creates(trial: Trial) -> None:
    machines = [trial.lease_speculative() for _ in range(BURST)]
    tokens = [Token(trial.shards.fresh(), 1, 1) for _ in machines]
    answers = await trial.all_at_once(
        [trial.create(machine, token) for machine, token in zip(machines, tokens, strict=True)]
    )
    ids = {answer.must_be_ok().operation_id for answer in answers}
    must_equal(len(ids), BURST, "different operation ids")
    await asyncio.gather(*(trial.settles(machine, S.IDLE, 30) for machine in machines))


@SCALE.row("B1109", "Idle machines stay idle", mutant="idle drift", machines=CREW)
async def idle_machines_rest(trial: Trial) -> None:
    machines = await trial.lease_idles(CREW)
    window = min(3.0, max(0.5, trial.settings.soak / 4))
    await asyncio.gather(*(trial.holds(machine, S.IDLE, window) for machine in machines))
