"""Statements added up: what each cluster, or each team, caused and bore in a month.

Only declared dollars. A pinned workload has no amount and what is not known is not guessed: both
are counted beside the sums.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

from bigfleet.model.statements import InvoiceLine, InvoicePart, Statement

#: The name of clusters that no team has.
NO_TEAM = "no team"


class InvoiceSums:
    """By month and the two clusters; every statement is in exactly one part."""

    def __init__(self, parts: Iterable[InvoicePart] = ()) -> None:
        self._parts: dict[tuple[str, str, str], InvoicePart] = {}
        for part in parts:
            self._parts[part.month, part.caused_by, part.borne_by] = part

    def add(self, statement: Statement) -> InvoicePart:
        """The part it is in now."""
        name = statement.month, statement.caused_by, statement.borne_by
        part, declared = self._parts.get(name) or InvoicePart(*name), statement.declared
        amount = declared if declared is not None and math.isfinite(declared) else 0.0
        self._parts[name] = part = replace(
            part,
            dollars=part.dollars + amount,
            count=part.count + 1,
            pinned=part.pinned + statement.is_pinned,
            unknown=part.unknown + (declared is None),
        )
        return part

    def parts(self) -> tuple[InvoicePart, ...]:
        return tuple(part for _, part in sorted(self._parts.items()))


def invoice_lines(
    parts: Iterable[InvoicePart], team_of: Mapping[str, str] | None = None
) -> list[InvoiceLine]:
    """By month and name. `team_of`: of a cluster; None: each stands for itself."""
    lines: dict[tuple[str, str], InvoiceLine] = {}
    for part in parts:
        causes, bears = (_name(each, team_of) for each in (part.caused_by, part.borne_by))
        for name in dict.fromkeys((causes, bears)):
            line = lines.get((part.month, name)) or InvoiceLine(part.month, name)
            lines[part.month, name] = replace(
                line,
                caused=line.caused + (part.dollars if name == causes else 0.0),
                borne=line.borne + (part.dollars if name == bears else 0.0),
                own=line.own + (part.dollars if causes == bears else 0.0),
                count=line.count + part.count,
                pinned=line.pinned + part.pinned,
                unknown=line.unknown + part.unknown,
            )
    return [line for _, line in sorted(lines.items())]


def line_document(line: InvoiceLine, by: str) -> dict[str, str | float]:
    """`by`: what the name is one of, cluster or team."""
    return {
        "month": line.month,
        by: line.name,
        "causedDollars": line.caused,
        "borneDollars": line.borne,
        "netDollars": line.net,
        "ownDollars": line.own,
        "count": line.count,
        "pinned": line.pinned,
        "unknown": line.unknown,
    }


def _name(cluster: str, team_of: Mapping[str, str] | None) -> str:
    if team_of is None or not cluster:
        return cluster
    return team_of.get(cluster, NO_TEAM)
