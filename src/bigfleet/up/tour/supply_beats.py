"""Beats 1 to 4: one pool, cheapest first, the same machines for another, a gang in one rack."""

from collections.abc import Callable, Generator

from bigfleet.model.machines import MachineState
from bigfleet.sim.workloads import BATCH, ML, SHOP
from bigfleet.up.tour.demands import Demands
from bigfleet.up.tour.instructions import AskFor
from bigfleet.up.tour.seen import FleetSeen
from bigfleet.up.tour.sentences import (
    bought,
    got_text,
    idle_taken,
    machines_text,
    of_cluster,
    rate_text,
)
from bigfleet.up.tour.tour import Beat, Impossible, Playing, Wait

#: How many machines that shop gave back ml is to get.
_MOVED = 12
SERVED = "every pod runs and every need is met"


def usual(demands: Demands) -> Wait:
    return Wait(SERVED, lambda seen: seen.is_served, (AskFor(demands.usual()),))


def settled(demands: Demands) -> Generator[Wait, FleetSeen, FleetSeen]:
    """The usual demand, served, and decided on by a cycle that knows of it."""
    asked = yield usual(demands)
    seen = yield Wait(
        "the shard has decided on it",
        lambda seen: seen.is_served and seen.cycle > asked.cycle + 1,
    )
    return seen


def one_pool(demands: Demands) -> Callable[[FleetSeen], Playing]:
    def play(_: FleetSeen) -> Playing:
        seen = yield usual(demands)
        bound = {name: seen.count(MachineState.CONFIGURED, name) for name in seen.clusters}
        serving = ", ".join(f"{count:,} {name}" for name, count in bound.items() if count)
        idle, slots = seen.count(MachineState.IDLE), seen.count(MachineState.SPECULATIVE)
        return (
            f"One pool of {machines_text(len(seen.snapshot))} for all clusters: green ones serve "
            f"({serving}), {idle:,} blue ones are idle, {slots:,} slate ones could be bought. "
            f"It costs {rate_text(seen.dollars_per_hour)} now."
        )

    return play


def cheapest_first(demands: Demands) -> Callable[[FleetSeen], Playing]:
    def has_bought(seen: FleetSeen) -> bool:
        own = of_cluster(seen.decided, SHOP)
        return seen.is_served and bool(idle_taken(own)) and bool(bought(own))

    def play(_: FleetSeen) -> Playing:
        before = yield usual(demands)
        grown = AskFor(demands.usual(shop=440, batch=200))
        until = "shop and batch have grown, owned machines are used up and every pod runs"
        seen = yield Wait(until, has_bought, (grown,))
        return (
            f"{got_text(seen, SHOP)}; {got_text(seen, BATCH)}. A loss costs shop $4, so spot at a "
            "risk of 0.30 is dearer for it than on-demand, and cheaper for batch, which declares "
            f"$0. {rate_text(before.dollars_per_hour)} became {rate_text(seen.dollars_per_hour)}."
        )

    return play


def move(demands: Demands) -> Callable[[FleetSeen], Playing]:
    def play(_: FleetSeen) -> Playing:
        large = AskFor(demands.usual(shop=300))
        seen = yield Wait(SERVED, lambda seen: seen.is_served, (large,))
        had = seen.ids(MachineState.CONFIGURED, SHOP)

        def given_back(seen: FleetSeen) -> frozenset[str]:
            return had & seen.ids(MachineState.IDLE, most_dollars=0.0)

        until = f"shop has given back {demands.nodes(_MOVED)} machines that cost nothing"
        enough = demands.nodes(_MOVED)
        seen = yield Wait(
            until,
            lambda seen: len(given_back(seen)) >= enough,
            (AskFor(demands.usual(shop=120)),),
            instead=lambda seen: f"{len(given_back(seen))} are idle",
        )
        rate, others = seen.dollars_per_hour, seen.ids(MachineState.IDLE, most_dollars=0.0) - had
        wanted = len(others) + enough
        again = had

        def moved(seen: FleetSeen) -> frozenset[str]:
            return again & seen.ids(MachineState.CONFIGURED, ML)

        seen = yield Wait(
            "ml runs, on machines that shop had",
            lambda seen: seen.serves(ML) and bool(moved(seen)),
            (AskFor(demands.usual(demands.prepare(wanted), shop=120)),),
        )
        took, buys = (f(of_cluster(seen.decided, ML)) for f in (idle_taken, bought))
        same = len(moved(seen))
        cost = "nothing was bought" if not buys else f"{len(buys)} were bought"
        return (
            f"shop shrank and gave machines back; ml took {machines_text(len(took))}, {same:,} of "
            f"which shop had a moment ago, and {cost}: {rate_text(rate)} before, "
            f"{rate_text(seen.dollars_per_hour)} after."
        )

    return play


def gang(demands: Demands) -> Callable[[FleetSeen], Playing]:
    def play(_: FleetSeen) -> Playing:
        yield usual(demands)
        asked = demands.gang()
        members = asked.pods

        def stands(seen: FleetSeen) -> bool:
            ml = seen.clusters[ML]
            placed = ml.gangs.get(asked.workload.name, frozenset())
            return ml.pods == ml.running and len(placed) == members and seen.serves(ML)

        seen = yield Wait(
            f"all {members} pods of the gang run",
            stands,
            (AskFor(demands.usual(asked)),),
        )
        machines = seen.clusters[ML].gangs[asked.workload.name]
        racks = sorted(seen.racks_of(machines))
        if len(racks) != 1:
            raise Impossible(f"its pods run in {len(racks)} racks: {', '.join(racks)}")
        return (
            f"A training run of {members} pods starts all together or not at all, in one rack: all "
            f"{members} run now on {machines_text(len(machines))} of rack {racks[0]}. "
            f"{got_text(seen, ML)}."
        )

    return play


def supply_beats(demands: Demands) -> list[Beat]:
    return [
        Beat(
            "pool",
            "One pool",
            "Every machine of the company, and every one that could be bought, for all clusters.",
            one_pool(demands),
        ),
        Beat(
            "cheapest",
            "Cheapest first",
            "shop and batch grow: owned machines first, then what costs each of them least.",
            cheapest_first(demands),
        ),
        Beat(
            "move",
            "Machines move",
            "shop shrinks and ml grows: the same machines serve another cluster, for nothing.",
            move(demands),
        ),
        Beat(
            "gang",
            "A gang in one rack",
            "A training run of 16 machines, all in one rack, or none of them.",
            gang(demands),
        ),
    ]
