"""The two linear programs: coverage by priority, and the least cost of a given coverage.

Variables are machines of a class given to a group (whole numbers in a real assignment, any number
here) and what a group lacks in a dimension, in sizes of its largest Need. A machine counts for a
Need with no more than the Need asks for, and a group that must be covered gets its least number of
machines: both hold for every assignment of whole machines, so the value stays a lower bound.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bigfleet.engine.kernels.compiled import Bools, Floats, Int64s
from bigfleet.regret.classes import FleetClasses

#: A dimension of which less is missing than this share of the level's demand is covered.
ROUNDING = 1e-9
#: As much more than a program found may stay uncovered in the next one, as a share of the demand:
#: ten times a solver's tolerance, else what one program found is infeasible in another.
SLACK = 1e-6


@dataclass(frozen=True, slots=True)
class Rows:
    """Constraints: `lower <= sum of value x variable <= upper`, entries by row and variable."""

    row: Int64s
    variable: Int64s
    value: Floats
    lower: Floats
    upper: Floats

    def __len__(self) -> int:
        return len(self.lower)

    @staticmethod
    def joined(parts: Sequence["Rows"]) -> "Rows":
        first = np.cumsum([0, *(len(each) for each in parts)])
        return Rows(
            np.concatenate([each.row + at for each, at in zip(parts, first[:-1], strict=True)]),
            *(
                np.concatenate([getattr(each, name) for each in parts])
                for name in ("variable", "value", "lower", "upper")
            ),
        )


@dataclass(frozen=True, slots=True)
class LinearProgram:
    """Minimise the cost; every variable is between 0 and its upper bound."""

    cost: Floats
    upper: Floats
    rows: Rows

    def lower_bound(self, duals: Floats) -> float:
        """What the optimum cannot be below, from any multipliers of the rows: exact for the best
        ones, true for all of them, whatever a solver's tolerances are."""
        rows = self.rows
        sides = np.where(duals > 0, rows.lower, rows.upper)
        counted = np.where(np.isfinite(sides), duals, 0.0)
        fixed = float((counted * np.where(counted != 0, sides, 0.0)).sum())
        priced = rows.value * counted[rows.row]
        reduced = self.cost - np.bincount(rows.variable, weights=priced, minlength=len(self.cost))
        return fixed + float((np.minimum(reduced, 0.0) * self.upper).sum())


class Programs:
    """Both programs of one cycle."""

    def __init__(self, fleet: FleetClasses) -> None:
        self._fleet = fleet
        self.pair_group, self.pair_class = (each for each in np.nonzero(fleet.fits))
        self.pairs = len(self.pair_group)
        #: What may be lacking: group and dimension of each.
        self._lack_group, self._lack_dimension = np.nonzero(fleet.total > 0)
        self._size = fleet.largest[self._lack_group, self._lack_dimension]
        self._asked = fleet.total[self._lack_group, self._lack_dimension] / self._size
        level = fleet.level[self._lack_group]
        demand = np.zeros(fleet.uncovered.shape)
        lacking = (level, self._lack_dimension)
        np.add.at(demand, lacking, self._asked * self._size)
        self._demand = demand
        self._level_of_lack = level
        #: Of each lack, one size of it as a share of what its level asks for.
        self._share = self._size / demand[lacking]
        #: What the cycle leaves uncovered, as a share of what the level asks for.
        self.uncovered = np.zeros(fleet.uncovered.shape)
        np.divide(fleet.uncovered, demand, out=self.uncovered, where=demand > 0)
        self._limits = Rows.joined([self._supply(), self._coverage()])

    def greedy_share(self, level: int) -> float:
        """Uncovered in the cycle: the sum over dimensions of shares of what the level asks for."""
        return float(self.uncovered[level].sum())

    def coverage(self, level: int, held: Sequence[float]) -> LinearProgram:
        """The least that can stay uncovered of a level, where no higher one has noticeably more
        uncovered than `held` says."""
        limits = [self._uncovered_at_most(at, most) for at, most in enumerate(held)]
        cost = np.where(self._level_of_lack == level, self._share, 0.0)
        machines = self._fleet.machines[self.pair_class].astype(np.float64)
        return LinearProgram(
            np.concatenate([np.zeros(self.pairs), cost]),
            np.concatenate([machines, self._asked]),
            Rows.joined([self._limits, *limits]),
        )

    def cost(self) -> LinearProgram:
        """The least effective cost at no less coverage than the cycle's, by level and dimension."""
        fleet = self._fleet
        covered = np.all(self.uncovered <= 0, axis=1)
        dollars = self.dollars()
        machines = fleet.machines[self.pair_class].astype(np.float64)
        # What costs infinitely much is only for those who pay it in the cycle, as often as there.
        machines = np.where(np.isfinite(dollars), machines, self.claims())
        lack = np.where(covered[self._level_of_lack], 0.0, self._asked)
        limits = [self._limits, self._least_machines(covered)]
        limits += [self._no_less_coverage(level) for level in np.flatnonzero(~covered).tolist()]
        finite = np.where(np.isfinite(dollars), dollars, fleet.price[self.pair_class])
        return LinearProgram(
            np.concatenate([finite, np.zeros(len(lack))]),
            np.concatenate([machines, lack]),
            Rows.joined(limits),
        )

    def dollars(self) -> Floats:
        """Effective cost per hour of one machine of each pair, infinite where it is pinned."""
        return self._fleet.cost(self.pair_group, self.pair_class)

    def claims(self) -> Floats:
        """Machines of each pair that the cycle claims."""
        classes = len(self._fleet.machines)
        mine = self._fleet.claim_group * classes + self._fleet.claim_class
        place = np.searchsorted(self.pair_group * classes + self.pair_class, mine)
        found = np.zeros(self.pairs)
        found[place] = self._fleet.claims
        return found

    def share_lacking(self, solution: Floats, level: int) -> float:
        """Uncovered in a solution, as `greedy_share` counts it."""
        of_level = self._level_of_lack == level
        lacks = np.maximum(solution[self.pairs :], 0.0)
        return float((lacks * self._share)[of_level].sum())

    def lacking(self, solution: Floats, level: int) -> Floats:
        """What a solution leaves uncovered of a level, by dimension, in units."""
        of_level = self._level_of_lack == level
        lacks = np.maximum(solution[self.pairs :], 0.0) * self._size
        found = np.zeros(len(self._fleet.dimensions))
        np.add.at(found, self._lack_dimension[of_level], lacks[of_level])
        found[found <= SLACK * self._demand[level]] = 0.0
        return found

    def _supply(self) -> Rows:
        """No more machines of a class than there are."""
        machines = self._fleet.machines.astype(np.float64)
        return Rows(
            self.pair_class,
            np.arange(self.pairs),
            np.ones(self.pairs),
            np.full(len(machines), -np.inf),
            machines,
        )

    def _coverage(self) -> Rows:
        """What machines give and what is lacking make up what is asked for."""
        fleet, lacks = self._fleet, len(self._lack_group)
        row_of = np.full(fleet.total.shape, -1, np.int64)
        row_of[self._lack_group, self._lack_dimension] = np.arange(lacks)
        rows, variables = [np.arange(lacks)], [self.pairs + np.arange(lacks)]
        values = [np.ones(lacks)]
        for dimension in range(len(fleet.dimensions)):
            row = row_of[self.pair_group, dimension]
            given = fleet.units[self.pair_class, dimension]
            some = np.flatnonzero((row >= 0) & (given > 0))
            rows.append(row[some])
            variables.append(some)
            size = fleet.largest[self.pair_group[some], dimension]
            values.append(np.minimum(given[some], size) / size)
        return Rows(
            np.concatenate(rows),
            np.concatenate(variables),
            np.concatenate(values),
            self._asked,
            np.full(lacks, np.inf),
        )

    def _least_machines(self, covered: Bools) -> Rows:
        """Groups of covered levels get their least number of machines."""
        fleet = self._fleet
        groups = np.flatnonzero(covered[fleet.level])
        row_of = np.full(len(fleet.level), -1, np.int64)
        row_of[groups] = np.arange(len(groups))
        row = row_of[self.pair_group]
        some = np.flatnonzero(row >= 0)
        least = fleet.least_machines[groups]
        return Rows(row[some], some, np.ones(len(some)), least, np.full(len(groups), np.inf))

    def _no_less_coverage(self, level: int) -> Rows:
        """No dimension of a level lacks more than in the cycle."""
        lacks = np.flatnonzero(self._level_of_lack == level)
        return Rows(
            self._lack_dimension[lacks],
            self.pairs + lacks,
            self._share[lacks],
            np.full(len(self._fleet.dimensions), -np.inf),
            self.uncovered[level] + ROUNDING,
        )

    def _uncovered_at_most(self, level: int, most: float) -> Rows:
        lacks = np.flatnonzero(self._level_of_lack == level)
        row = np.zeros(len(lacks), np.int64)
        none, limit = np.full(1, -np.inf), np.full(1, most + SLACK)
        return Rows(row, self.pairs + lacks, self._share[lacks], none, limit)
