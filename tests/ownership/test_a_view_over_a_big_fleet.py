"""A view over a big fleet is taken piece by piece; how long each holds the loop is printed.

Run with `-s` and BIGFLEET_NIGHTLY=1 to see the numbers of 100,000 machines. They are measured and
not asserted: the aim is 50 ms for each, and a machine that is busy with other things says nothing
about it.
"""

import sys
import time
from collections.abc import Callable

from bigfleet.model.ownership import MachineOverride, OwnershipView, Pair
from bigfleet.model.requirements import ZONE_KEY
from bigfleet.shard.coordination.owned_machines import row_of_ownership
from tests.nightly import IS_NIGHTLY
from tests.ownership.sharing import shard_of
from tests.reconciling.rig import CONFIGURED, IDLE, SPECULATIVE, record

MACHINES = 100_000 if IS_NIGHTLY else 5_000
ZONES = [f"eu-{number}" for number in range(10)]
#: Domains of other keys and shards, as a big coordinator has them.
DOMAINS: dict[Pair, str] = {("rack", f"r-{number}"): "shard-9" for number in range(MACHINES)}
STATES = (IDLE, CONFIGURED, SPECULATIVE, CONFIGURED)


def view(revision: int, ours: int, unowned: int = 0) -> OwnershipView:
    """The first zones are ours, the next ones have no owner, the others are another shard's."""
    owner = [*["shard-0"] * ours, *[""] * unowned, *["shard-1"] * len(ZONES)]
    zones = {(ZONE_KEY, zone): owner[place] for place, zone in enumerate(ZONES)}
    rows = [
        MachineOverride(f"x-{number}", "shard-1", "shard-2", "t1")
        for number in range(MACHINES // 20)
    ]
    return OwnershipView.of(revision, [ZONE_KEY], DOMAINS | zones, rows)


def seconds(work: Callable[[], object]) -> float:
    before = time.perf_counter()
    work()
    return time.perf_counter() - before


def pieces(more: Callable[[], bool]) -> list[float]:
    taken = []
    while True:
        before = time.perf_counter()
        left = more()
        taken.append(time.perf_counter() - before)
        if not left:
            return taken


def say(what: str, taken: list[float]) -> None:
    longest, total = max(taken) * 1000, sum(taken)
    tell(f"{what}: {len(taken)} pieces, longest {longest:.0f} ms, {total:.2f} s in all")


def tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def test_no_piece_of_a_view_is_the_whole() -> None:
    rig = shard_of(view(1, ours=10))
    owned_machines = rig.parts.owned_machines
    records = [
        record(f"m-{number:06}", STATES[number % 4], zone=ZONES[number % 10])
        for number in range(MACHINES)
    ]
    rig.wait(1)
    reading = rig.read(records)
    first = [seconds(lambda: rig.begins(reading, rig.now))]
    say("\nthe first List", first + pieces(lambda: rig.reconciler.continue_list("acme")))
    assert len(rig.ids()) == MACHINES

    def take(newer: OwnershipView, what: str) -> None:
        rows: list[bytes] = []
        row = seconds(lambda: rows.append(owned_machines.row_of(newer, ["acme"])))
        taken = [seconds(lambda: owned_machines.take_view(newer, ["acme"], rig.now))]
        taken += pieces(rig.reconciler.continue_sweep)
        assert len(taken) > 1
        tell(f"{what}: the row takes {row * 1000:.0f} ms in a thread, {len(rows[0]) >> 10} KiB")
        say(what, taken)

    take(view(2, ours=10), "a view that changes nothing here")
    take(view(3, ours=8), "a fifth goes to another shard")
    assert len(rig.ids()) == MACHINES * 8 // 10
    take(view(4, ours=6, unowned=2), "another fifth is being given up")
    left = len(rig.ids())
    assert left == MACHINES * 7 // 10, "half of it serves a cluster"
    pair = (ZONE_KEY, ZONES[6])
    say("how much of a domain is left", [seconds(lambda: rig.reconciler.occupied_in(pair))])
    take(view(5, ours=10), "everything comes back")
    rig.wait(1)
    again = rig.read(records)
    listed = [seconds(lambda: rig.begins(again, rig.now))]
    say("the List that brings it", listed + pieces(lambda: rig.reconciler.continue_list("acme")))
    assert len(rig.ids()) == MACHINES
    assert len(row_of_ownership(rig.reconciler.ownership)) > 0
