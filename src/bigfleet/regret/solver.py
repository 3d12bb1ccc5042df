"""Solves a linear program with HiGHS, which is installed with the extra `regret`."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bigfleet.engine.kernels.compiled import Floats
from bigfleet.regret.programs import LinearProgram

if TYPE_CHECKING:
    import highspy


class NoSolver(Exception):
    """The extra is not installed."""


class NotSolved(Exception):
    """The solver gave up, and not for want of time; its words."""


@dataclass(frozen=True, slots=True)
class Solution:
    #: False: time ran out.
    is_optimal: bool
    #: True in any case.
    lower_bound: float
    #: By variable; only of use where the solution is optimal.
    values: Floats
    seconds: float


def solved(program: LinearProgram, seconds: float) -> Solution:
    """Raises NoSolver, NotSolved."""
    try:
        import highspy
    except ImportError:
        raise NoSolver from None
    highs = highspy.Highs()  # type: ignore[no-untyped-call]
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("threads", 1)
    # What it has when time runs out is a bound already; an interior point is not.
    highs.setOptionValue("solver", "simplex")
    highs.setOptionValue("time_limit", seconds)
    highs.passModel(_filled(highspy.HighsLp(), program))
    highs.run()
    status, ends = highs.getModelStatus(), highspy.HighsModelStatus
    is_optimal = status in (ends.kOptimal, ends.kModelEmpty)
    if not is_optimal and status != ends.kTimeLimit:
        raise NotSolved(highs.modelStatusToString(status))
    found = highs.getSolution()
    duals = np.asarray(found.row_dual, np.float64)
    if len(duals) != len(program.rows):
        duals = np.zeros(len(program.rows))
    return Solution(
        is_optimal,
        program.lower_bound(duals),
        np.asarray(found.col_value, np.float64),
        highs.getRunTime(),
    )


def _filled(model: "highspy.HighsLp", program: LinearProgram) -> "highspy.HighsLp":
    """By column, which is how a new model's matrix is read."""
    rows, columns = program.rows, len(program.cost)
    order = np.lexsort((rows.row, rows.variable))
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows.variable, minlength=columns))])
    model.num_col_, model.num_row_ = columns, len(rows)
    model.col_cost_, model.col_lower_ = program.cost, np.zeros(columns)
    model.col_upper_ = program.upper
    model.row_lower_, model.row_upper_ = rows.lower, rows.upper
    model.a_matrix_.start_ = starts.astype(np.int32)
    model.a_matrix_.index_ = rows.row[order].astype(np.int32)
    model.a_matrix_.value_ = rows.value[order]
    return model
