"""Places: machines by provider and region, as columns, for quotas.

The region is the machine's label, else its provider's. A machine that came from no provider's List
is at no place.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from bigfleet.engine.encoding import HELD_BY
from bigfleet.engine.kernels.compiled import Bools, Int64s
from bigfleet.engine.snapshot import Snapshot
from bigfleet.model.batches import Offering
from bigfleet.model.fleet import HeldBy
from bigfleet.model.machines import MachineState
from bigfleet.model.requirements import REGION_KEY, Requirement, attribute_of
from bigfleet.model.resources import Resources

#: A provider's name, and a region.
Place = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Places:
    snapshot: Snapshot
    names: Sequence[Place]
    #: Of each machine: -> names, -1 none.
    place_of_machine: Int64s

    def in_use(self) -> dict[Place, int]:
        """Machines that are no longer Speculative, of every place that has machines."""
        there = self.place_of_machine >= 0
        used = there & (self.snapshot.columns.state != MachineState.SPECULATIVE)
        size = len(self.names)
        machines = np.bincount(self.place_of_machine[there], minlength=size).tolist()
        real = np.bincount(self.place_of_machine[used], minlength=size).tolist()
        return {
            name: real[number] for number, name in enumerate(self.names) if machines[number] > 0
        }

    def slots(self, place: Place) -> Int64s:
        """Rows of the Speculative machines of a place."""
        if place not in self.names:
            return np.zeros(0, np.int64)
        here = self.place_of_machine == self.names.index(place)
        return np.flatnonzero(here & (self.snapshot.columns.state == MachineState.SPECULATIVE))


def places_of(snapshot: Snapshot, region_of_provider: Mapping[str, str]) -> Places:
    sources, columns = snapshot.tables.sources.rows, snapshot.columns
    labels = [_label(offering) for offering in snapshot.tables.offerings.table.rows]
    regions = [region_of_provider.get(name, "") for name in sources]
    words = sorted({*regions, *(label for label in labels if label is not None)})
    number_of = {word: number for number, word in enumerate(words)}
    unlabelled = -1
    of_offering = np.array(
        [unlabelled if label is None else number_of[label] for label in labels], np.int64
    )
    of_source = np.array([number_of[region] for region in regions] + [unlabelled], np.int64)
    if not len(snapshot) or not words:
        return Places(snapshot, (), np.full(len(snapshot), -1, np.int64))
    source = columns.source.astype(np.int64)
    labelled = of_offering[columns.offering]
    region = np.where(labelled >= 0, labelled, of_source[source])
    place = np.where(source >= 0, source * len(words) + region, np.int64(-1))
    names = [(provider, word) for provider in sources for word in words]
    return Places(snapshot, names, place)


def beyond(snapshot: Snapshot, slots: Int64s, allowed: int, is_resting: Bools) -> Int64s:
    """Rows of the slots that are not among the cheapest `allowed` ones.

    Slots that are held for another reason count for nothing, nor do those of offerings
    (`is_resting`, by number) that are not bought now.
    """
    columns = snapshot.columns
    free = np.isin(columns.held[slots], (0, held_code(HeldBy.QUOTA)))
    free &= ~is_resting[columns.offering[slots]]
    bought = slots[free]
    price = snapshot.offerings.price[columns.offering[bought]]
    shown = bought[np.lexsort((bought, price))[:allowed]]
    return np.setdiff1d(slots, shown, assume_unique=True)


def held_code(by: HeldBy) -> int:
    """As the column `held` has it."""
    return HELD_BY.index(by) + 1


def fits(offering: Offering, requirements: Sequence[Requirement], min_unit: Resources) -> bool:
    """Whether machines of the offering meet the requirements and hold one unit; requirements on
    the Node's name cannot be judged from an offering."""
    labels = dict(offering.labels)
    return capacity_of(offering).covers(min_unit) and all(
        each.met_by(attribute_of(each.key, offering.instance_type, offering.zone, labels))
        for each in requirements
    )


def capacity_of(offering: Offering) -> Resources:
    return offering.allocatable if offering.allocatable.amounts else offering.resources


@lru_cache(maxsize=4096)
def _label(offering: Offering) -> str | None:
    return dict(offering.labels).get(REGION_KEY)
