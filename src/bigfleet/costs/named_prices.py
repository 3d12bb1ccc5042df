"""What settings say about money: `metal.8=3.00` and `shop=retail`, one per entry."""

import math
from collections.abc import Callable, Iterable

from bigfleet.model.fleet import Costs


def costs_of(imputed: Iterable[str], teams: Iterable[str]) -> Costs:
    """Of entries that `problems_of` has nothing against."""
    return Costs(
        {name: float(price) for name, _, price in map(_parted, imputed)},
        {cluster: team for cluster, _, team in map(_parted, teams)},
    )


def problems_of(imputed: Iterable[str], teams: Iterable[str]) -> list[tuple[str, str]]:
    """(setting, sentence with what to write)."""
    found = [("imputed", text) for text in _of(imputed, "metal.8=3.00", _why_no_price)]
    return found + [("teams", text) for text in _of(teams, "shop=retail", lambda _team: "")]


def _of(entries: Iterable[str], example: str, why_not: Callable[[str], str]) -> Iterable[str]:
    seen = set[str]()
    for entry in entries:
        name, sign, value = _parted(entry)
        if not (name and sign and value):
            yield f"{entry!r} is not NAME=VALUE; write {example}"
        elif problem := why_not(value):
            yield f"{entry!r}: {problem}"
        elif name in seen:
            yield f"names {name} twice; keep one of them"
        seen.add(name)


def _parted(entry: str) -> tuple[str, str, str]:
    """A name may hold an equals sign, a price or a team does not."""
    name, sign, value = entry.rpartition("=")
    return name.strip(), sign, value.strip()


def _why_no_price(value: str) -> str:
    try:
        price = float(value)
    except ValueError:
        price = math.nan
    if math.isfinite(price) and price >= 0:
        return ""
    return "a price is a finite number of dollars per hour, zero or more"
