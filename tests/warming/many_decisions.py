"""Run as a process of its own: compiles every kernel, then decides on many fleets of every kind.

Prints as JSON what was compiled beforehand and afterwards, and how often the cache had no answer.
"""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np

from bigfleet import compiling
from bigfleet.engine.availability import availability_of
from bigfleet.engine.donation import Wanted, victims_below
from bigfleet.fleetfile import load_fleet
from bigfleet.model.fleet import Fleet
from bigfleet.plan.cycle import cycle_input
from bigfleet.v1alpha1 import provider_pb2
from bigfleet.wire import list_walker as walker
from bigfleet.wire.machine_batches import listed
from tests.generated.fleets import fleet_of_seed
from tests.warming.dispatchers import compiled_types, dispatchers, is_cached

EXAMPLES = Path(__file__).parents[2] / "examples" / "fleets"
FLEETS = 150


def main() -> None:
    compiling.compile_kernels()
    before = compiled_types()
    kinds: set[str] = set()
    with ThreadPoolExecutor(3) as threads:
        for fleet in _fleets():
            decided = cycle_input(fleet, workers=3, run_workers=threads.map).decide()
            kinds |= {action.kind.label for action in decided.actions}
            availability_of(decided.outcome)
            victims_below(decided, 2**31 - 1, Wanted(), lambda _: True, fleet.options, 9)
    _walk_lists()
    after = compiled_types()
    missed = {
        name: sum(each.stats.cache_misses.values())
        for name, each in dispatchers().items()
        if is_cached(each)
    }
    print(json.dumps({"before": before, "after": after, "missed": missed, "kinds": sorted(kinds)}))  # noqa: T201


def _fleets() -> Iterator[Fleet]:
    for file in sorted(EXAMPLES.glob("*.yaml")):
        yield load_fleet(file.read_bytes(), file.name)
    for seed in range(FLEETS):
        fleet = fleet_of_seed(seed)
        yield replace(fleet, options=replace(fleet.options, smallest_share=1, most_conflicts=1.0))


def _walk_lists() -> None:
    """A provider's List, with a name that is not ASCII."""
    machines = [provider_pb2.Machine(id=name, zone="a") for name in ("m-1", "m-\u00e4")]
    now = listed(provider_pb2.MachineList(machines=machines).SerializeToString())
    assert len(now.texts(np.arange(2), walker.ID).content)


main()
