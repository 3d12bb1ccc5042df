"""The law of ownership, over random hand-overs: late views, lost answers, restarts, transfers."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ownership.hand_overs import MACHINES, PAIRS, PROVIDERS, SHARDS, Fleet

NAMES = tuple(MACHINES)
STEPS = (
    "assign",
    "unassign",
    "default",
    "sync",
    "ask",
    "arrive",
    "hear",
    "answer",
    "answer",
    "use",
    "free",
    "offer",
    "release",
    "grant",
    "cancel",
    "readopt",
    "restart",
)
Step = tuple[str, int, int, int]
schedules = st.lists(
    st.tuples(st.sampled_from(STEPS), *(st.integers(0, 255) for _ in range(3))), max_size=60
)


def take(fleet: Fleet, step: Step) -> None:
    name, one, two, three = step
    shard, pair = SHARDS[one % len(SHARDS)], PAIRS[two % len(PAIRS)]
    machine = NAMES[two % len(NAMES)]
    told = fleet.pending(shard)
    transfers = list(fleet.transfers)
    match name:
        case "assign":
            fleet.assign(pair, shard)
        case "unassign":
            fleet.unassign(pair)
        case "default":
            fleet.set_default(PROVIDERS[two % 2], shard)
        case "sync":
            fleet.sync(shard)
        case "ask":
            fleet.ask(shard)
        case "arrive":
            fleet.arrive(shard)
        case "hear" if told:
            fleet.hear(shard, told[two % len(told)])
        case "answer" if told:
            fleet.answer(shard, told[two % len(told)])
        case "use":
            fleet.use(shard, machine)
        case "free":
            fleet.free(shard, machine)
        case "offer":
            fleet.offer(shard, SHARDS[three % len(SHARDS)], machine)
        case "release" if transfers:
            fleet.release(transfers[two % len(transfers)])
        case "grant" if transfers:
            fleet.grant(transfers[two % len(transfers)])
        case "cancel" if transfers:
            fleet.hold_back(transfers[two % len(transfers)])
        case "readopt" if transfers:
            fleet.readopt(transfers[two % len(transfers)])
        case "restart":
            fleet.restart(shard)


@given(schedules)
@settings(max_examples=300, deadline=None)
def test_no_machine_has_two_owners_if_messages_are_late_or_lost(schedule: list[Step]) -> None:
    fleet = Fleet()
    for shard in SHARDS:
        fleet.sync(shard)
    for step in schedule:
        take(fleet, step)
        for machine in MACHINES:
            owners = fleet.owners(machine)
            assert len(owners) <= 1, f"{machine} is {owners} after {step}"
