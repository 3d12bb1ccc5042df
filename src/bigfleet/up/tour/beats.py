"""The beats of the tour, in order."""

from bigfleet.provider.sim.world.presets import SECURITY_MODULE, preset_of
from bigfleet.up.plans import FleetPlan
from bigfleet.up.tour.demands import Demands
from bigfleet.up.tour.question_beats import question_beats
from bigfleet.up.tour.supply_beats import supply_beats
from bigfleet.up.tour.tour import Beat
from bigfleet.up.tour.trouble_beats import trouble_beats

_LOST_ZONE = "b"


def beats_of(plan: FleetPlan) -> list[Beat]:
    offerings = preset_of(plan.preset, 0).offerings
    secure = sum(each.count for each in offerings if SECURITY_MODULE in each.labels)
    demands = Demands(plan.size, secure)
    return [
        *supply_beats(demands),
        *trouble_beats(demands),
        *question_beats(demands, _LOST_ZONE),
    ]
