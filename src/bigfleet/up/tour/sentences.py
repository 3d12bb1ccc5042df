"""Words of the tour: how many machines of which sort, at which price."""

from collections import Counter
from collections.abc import Iterable

from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import CapacityType
from bigfleet.model.reasons import dollars_text
from bigfleet.up.tour.seen import Decided, FleetSeen

_NAMES = {
    CapacityType.BARE_METAL: "bare-metal",
    CapacityType.RESERVED: "reserved",
    CapacityType.ON_DEMAND: "on-demand",
    CapacityType.SPOT: "spot",
}


def machines_text(count: int, what: str = "machine") -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def rate_text(dollars: float) -> str:
    return f"{dollars_text(round(dollars, 2))}/h"


def idle_taken(decided: Iterable[Decided]) -> list[Decided]:
    """Of machines that were there; what is bought is bootstrapped too when it has come."""
    actions = list(decided)
    bought = {each.machine for each in actions if each.kind is ActionKind.PROVISION}
    return [a for a in actions if a.kind is ActionKind.BOOTSTRAP and a.machine not in bought]


def bought(decided: Iterable[Decided]) -> list[Decided]:
    return [each for each in decided if each.kind is ActionKind.PROVISION]


def of_cluster(decided: Iterable[Decided], cluster: str) -> list[Decided]:
    return [each for each in decided if each.cluster == cluster]


def sorts_text(decided: Iterable[Decided]) -> str:
    """`53 reserved at $0.00/h and 12 spot at $0.10/h`, the cheapest first."""
    counts = Counter((round(each.dollars_per_hour, 2), each.capacity_type) for each in decided)
    said = [
        f"{count:,} {_NAMES.get(sort, 'other')} at {rate_text(price)}"
        for (price, sort), count in sorted(counts.items())
    ]
    return " and ".join([", ".join(said[:-1]), said[-1]] if len(said) > 1 else said)


def got_text(seen: FleetSeen, cluster: str) -> str:
    """What a cluster took and what was bought for it."""
    own = of_cluster(seen.decided, cluster)
    took, buys = idle_taken(own), bought(own)
    parts = []
    if took:
        parts.append(f"took {machines_text(len(took), 'idle machine')} ({sorts_text(took)})")
    if buys:
        then = "then bought" if took else "bought"
        parts.append(f"{then} {len(buys):,} ({sorts_text(buys)})")
    return f"{cluster} {' and '.join(parts) or 'needed nothing new'}"
