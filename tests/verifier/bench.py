"""How long 100,000 actions take: `python -m tests.verifier.bench`. The budget is 200 ms."""

from time import perf_counter

from bigfleet.model.actions import Action, ActionKind, Rule
from bigfleet.model.machines import CapacityType, MachineState
from bigfleet.model.needs import Need
from bigfleet.model.profiles import Profile
from bigfleet.model.requirements import INSTANCE_TYPE_KEY, Operator, Requirement
from bigfleet.model.resources import Resources
from bigfleet.verifier.facts import NONE, AskingNeed, Batch, ClusterStanding, MachineShape
from bigfleet.verifier.limits import RecentReclaims
from bigfleet.verifier.policy import policy_of
from bigfleet.verifier.verify import verify

ACTIONS = {
    ActionKind.BOOTSTRAP: (40_000, MachineState.IDLE),
    ActionKind.PROVISION: (20_000, MachineState.SPECULATIVE),
    ActionKind.PREEMPT: (10_000, MachineState.CONFIGURED),
    ActionKind.RECLAIM: (20_000, MachineState.CONFIGURED),
    ActionKind.DELETE: (10_000, MachineState.IDLE),
}
NEEDS, SHAPES, CLUSTERS, TYPES, ZONES = 2_000, 300, 100, 20, 3


def large_batch() -> Batch:
    needs, actions = _needs(), []
    need, bound, state = [], [], []
    for kind, (count, wanted) in ACTIONS.items():
        for number in range(count):
            serves = kind not in (ActionKind.RECLAIM, ActionKind.DELETE)
            cluster = "" if kind is ActionKind.DELETE else f"c{number % CLUSTERS}"
            row = number % NEEDS if serves else None
            higher = needs[row].row.profile.priority if row is not None else 0
            preemptor = higher if kind is ActionKind.PREEMPT else 0
            name = f"{kind.label}-{number:06}"
            actions.append(Action(kind, name, cluster, Rule.IDLE, 0, preemptor, row))
            need.append(NONE if row is None else row)
            bound.append(cluster if wanted is MachineState.CONFIGURED else "")
            state.append(int(wanted))
    size = len(actions)
    zones = {f"z{zone}": 1_300 for zone in range(ZONES)}
    return Batch(
        actions=actions,
        shape=[number % SHAPES for number in range(size)],
        need=need,
        claimant=[NONE] * size,
        stamped_priority=[10] * size,
        bound_to=bound,
        state=state,
        owned=[True] * size,
        seen=[0] * size,
        now=[0] * size,
        shapes=[_shape(number) for number in range(SHAPES)],
        needs=needs,
        clusters={f"c{n}": ClusterStanding(True, False, 4_000, zones) for n in range(CLUSTERS)},
        at=1_700_000_000 * 10**9,
        spend_per_hour=10_000.0,
    )


def _needs() -> list[AskingNeed]:
    types = Requirement.of(INSTANCE_TYPE_KEY, Operator.IN, [f"t{n}" for n in range(TYPES)])
    wanted = Resources.of({"cpu": 8_000_000, "memory": 1 << 45})
    unit = Resources.of({"cpu": 2_000, "memory": 1 << 33})
    found = []
    for number in range(NEEDS):
        profile = Profile.of([types], priority=1_000 + number % 7)
        row = Need(f"c{number % CLUSTERS}", profile, wanted, unit, group=str(number))
        found.append(AskingNeed(row.key, row, wanted))
    return found


def _shape(number: int) -> MachineShape:
    capacity = Resources.of({"cpu": 8_000, "memory": 1 << 35})
    kind, zone = f"t{number % TYPES}", f"z{number % ZONES}"
    return MachineShape(CapacityType.ON_DEMAND, kind, zone, {}, capacity, 0.3)


if __name__ == "__main__":
    batch, policy = large_batch(), policy_of(["0 3 * * * for 1h"], 1e6, 0.5, 0.5)
    took, found = [], verify(batch, policy, RecentReclaims())
    for _ in range(11):
        started = perf_counter()
        verify(batch, policy, RecentReclaims())
        took.append(perf_counter() - started)
    took.sort()
    text = f"{len(batch):,} actions, {len(found)} vetoes: best {took[0] * 1000:.0f} ms"
    print(f"{text}, median {took[5] * 1000:.0f} ms")  # noqa: T201 - it is what it is for
