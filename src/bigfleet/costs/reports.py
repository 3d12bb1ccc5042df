"""The report of a decided cycle: what its machines cost per hour, told by an axis."""

from collections.abc import Mapping

from bigfleet.costs.rates import CostSheet
from bigfleet.costs.red_flags import OfferingDay, red_flags
from bigfleet.engine.decision import Decision
from bigfleet.engine.engine_input import EngineInput
from bigfleet.model.costs import CostReport
from bigfleet.model.figures import CostAxis
from bigfleet.model.fleet import Costs


def report_of(
    given: EngineInput,
    decision: Decision,
    by: CostAxis,
    costs: Costs,
    *,
    shard: str,
    cycle: str,
    days: Mapping[str, OfferingDay] | None = None,
) -> CostReport:
    """The rates of a decided cycle."""
    sheet = CostSheet(decision.outcome, costs)
    flags, unknown = red_flags(sheet, given.options.release_holds, given.now, days)
    return CostReport(shard, cycle, given.at, by, sheet.by(by), sheet.total(), flags, unknown)
