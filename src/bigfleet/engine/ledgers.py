"""What one cycle remembers for the next beside reservations: parking ages and shortfalls."""

from collections.abc import Iterable, Mapping

from bigfleet.model.memory import Shortfall
from bigfleet.model.needs import NeedKey
from bigfleet.model.options import Parking
from bigfleet.model.resources import Resources


def is_parked(age: int, parking: Parking) -> bool:
    """A gang that has been hopeless for long rests, and tries again every so often."""
    return age >= parking.after and age % parking.probe != 0


def parking_ages(
    before: Mapping[NeedKey, int], stalled: Iterable[NeedKey], reserved: frozenset[NeedKey]
) -> dict[NeedKey, int]:
    """Ages after a cycle: a stalled gang grows older, one with victims on the way stands still.

    `stalled` are the unsatisfied gangs that acquired nothing in a domain too small for them; every
    other gang starts anew.
    """
    ages: dict[NeedKey, int] = {}
    for key in stalled:
        if key in reserved:
            if key in before:
                ages[key] = before[key]
        else:
            ages[key] = ages.get(key, before.get(key, 0)) + 1
    return ages


def shortfall_ledger(
    before: Mapping[NeedKey, Shortfall], unresolved: Iterable[tuple[NeedKey, Resources]]
) -> dict[NeedKey, Shortfall]:
    """Entries after a cycle, from what is unresolved of each Need that is short.

    Nothing unresolved means that victims are on their way: such a Need keeps its place and its age
    if it had one (ruling U12).
    """
    after: dict[NeedKey, Shortfall] = {}
    for key, deficit in unresolved:
        known = before.get(key)
        if deficit.amounts:
            after[key] = Shortfall(deficit, known.age + 1 if known else 1)
        elif known is not None:
            after[key] = known
    return after


def reported_shortfalls(
    ledger: Mapping[NeedKey, Shortfall], most: int = 100
) -> list[tuple[NeedKey, Shortfall]]:
    """The entries a shard reports: by priority, then age, at most `most`."""

    def order(entry: tuple[NeedKey, Shortfall]) -> tuple[int, int, NeedKey]:
        key, shortfall = entry
        priority = int(key.fingerprint.removeprefix("p=").split("|", 1)[0])
        return (-priority, -shortfall.age, key)

    return sorted(ledger.items(), key=order)[:most]
