"""A measured regret as a scripted shard tells it."""

from bigfleet.model.regret import Regret, RegretStatus, TypeRegret, UncoveredDemand
from bigfleet.model.resources import Resources

MEASURED = Regret(
    *(RegretStatus.BOUND_ONLY, "time ran out", 7, 21, 0.5, 2.0, 1.5, 3),
    uncovered=(
        UncoveredDemand("service", Resources.parse({"cpu": "8"}), Resources.parse({"cpu": "5"})),
        UncoveredDemand("batch", Resources.parse({"cpu": "1"}), bound_known=False),
    ),
    by_type=(TypeRegret("a3", 2.0, 1.5),),
    machine_classes=4,
    need_groups=5,
)
