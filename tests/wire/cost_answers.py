"""What machines cost, every field with a value of its own."""

from dataclasses import dataclass, field

from bigfleet.model.costs import (
    Amounts,
    Charge,
    CostCall,
    CostPeriod,
    CostReport,
    CostRow,
    RedFlag,
    Severity,
)
from bigfleet.model.figures import CostAxis

AMOUNTS = Amounts(9.0, 2.0, 1.0, 3.8, 6.0, 0.4, 3.0, 0.2, 0.1, 0.3)
RATES = CostReport(
    "shard-0",
    "3:18",
    19,
    CostAxis.TEAM,
    (CostRow("retail", AMOUNTS, 0.5), CostRow("", Amounts(1.0, billed=0.38, idle=0.38), -0.5)),
    Amounts(10.0, billed=4.18),
    (RedFlag(Severity.DANGER, "pinned-on-spot", "Spot", 3, "3 Spot machines"),),
    ("Idle past its hold: unknown",),
)
HOURS = CostReport(
    "shard-0",
    "3:19",
    20,
    CostAxis.NEED,
    (CostRow("need/shop/n3f9c01ab77", AMOUNTS),),
    AMOUNTS,
    period=CostPeriod(7, 8, 3599.5, (7,), 1, 2, 5),
    charges=(Charge(7, "shop", "m5.2xlarge", "a", "OnDemand", AMOUNTS),),
)


@dataclass
class ScriptedCosts:
    asked: list[tuple[object, ...]] = field(default_factory=list)

    async def costs(self, call: CostCall) -> CostReport:
        self.asked.append(("costs", call))
        return HOURS if call.ends else RATES
