"""What people set: freeze windows, the spend ceiling and how fast a zone may be emptied."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isfinite

from bigfleet.verifier.freezes import BadFreezeWindow, FreezeWindow, freeze_window_of

#: More of them would be a calendar, and each is looked at in every cycle that gives machines back.
MOST_FREEZE_WINDOWS = 64


@dataclass(frozen=True, slots=True)
class Policy:
    freeze_windows: tuple[FreezeWindow, ...] = ()
    #: Dollars per hour; 0: none.
    spend_ceiling: float = 0.0
    #: Part of a cluster's machines in one zone that may be reclaimed within a minute; 0: any.
    reclaim_zone_fraction: float = 0.5
    #: The reclaim cap of the rails, per cluster and cycle; 0: none, and none of a zone either.
    reclaim_cap_fraction: float = 0.0


def policy_of(
    freeze_windows: Iterable[str],
    spend_ceiling: float,
    reclaim_zone_fraction: float,
    reclaim_cap_fraction: float = 0.0,
) -> Policy:
    """Of texts and numbers that `problems_of` has nothing against."""
    return Policy(
        tuple(map(freeze_window_of, freeze_windows)),
        spend_ceiling,
        reclaim_zone_fraction,
        reclaim_cap_fraction,
    )


def problems_of(
    freeze_windows: Iterable[str], spend_ceiling: float, reclaim_zone_fraction: float
) -> Mapping[str, str]:
    """What is wrong, by field."""
    problems: dict[str, str] = {}
    windows = tuple(freeze_windows)
    if len(windows) > MOST_FREEZE_WINDOWS:
        problems["freeze_windows"] = f"{len(windows)} are too many; {MOST_FREEZE_WINDOWS} at most"
    for text in windows[:MOST_FREEZE_WINDOWS]:
        try:
            freeze_window_of(text)
        except BadFreezeWindow as problem:
            problems.setdefault("freeze_windows", str(problem))
    if not (isfinite(spend_ceiling) and spend_ceiling >= 0):
        problems["spend_ceiling"] = "write dollars per hour, 0 for no ceiling"
    if not 0 <= reclaim_zone_fraction <= 1:
        problems["reclaim_zone_fraction"] = "write a part from 0 to 1; 0 turns it off"
    return problems
