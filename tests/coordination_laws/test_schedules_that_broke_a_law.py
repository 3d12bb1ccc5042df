"""The smallest schedules that once broke a law, each as it was found."""

import pytest

from bigfleet.model.requirements import RACK_KEY, ZONE_KEY
from tests.coordination_laws.schedules import Schedule, ScheduleStart, rig
from tests.coordination_laws.steps import Step

SETTLED: tuple[Step, ...] = (("talk", 0, 2), ("talk", 0, 2))
A, B, C, D = range(4)
Z1, Z2, R1, R2 = range(4)

#: Racks are b's and d's, the rest is a's.
RACKS = ScheduleStart(4, (RACK_KEY,), (*SETTLED, ("assign", R1, B), ("assign", R2, D), *SETTLED))
#: Everything is a's, and there is no demand.
OF_A = ScheduleStart(3, (), SETTLED)
#: A zone is b's, which uses it; a rack that is asked first would be c's.
ZONE_OF_B = ScheduleStart(
    3, (RACK_KEY, ZONE_KEY), (*SETTLED, ("assign", Z2, B), *SETTLED, ("demand", B, 15), *SETTLED)
)

BROKE: dict[str, Schedule] = {
    # Given up, given back and given up again before its owner had heard of any of it: the owner
    # was the target meanwhile, and was not asked.
    "the target of a hand-over that is called off": Schedule(
        RACKS, (("move", R2, D), ("unassign", R2, 0))
    ),
    "the target of a hand-over that goes elsewhere": Schedule(
        RACKS, (("move", R2, D), ("move", R2, B))
    ),
    # The zone came back to b while its rack was changing hands: what served there was b's all
    # along.
    "a zone that comes back while a rack is given up": Schedule(
        ZONE_OF_B,
        (("assign", R1, C), ("move", Z2, B), ("rounds", 0, 0), ("second", 0, 0), ("talk", 0, 2)),
    ),
    # The zone became a's by name, which was a's as the default owner before.
    "a zone of the default owner while a rack is given up": Schedule(
        OF_A,
        (("demand", A, 7), *SETTLED, ("assign", Z1, A), ("move", R2, C), ("talk", 0, 2)),
    ),
    # The same, with a call under way to a machine that changes hands.
    "a call under way": Schedule(
        OF_A,
        (
            ("slow_provider", 0, 0),
            ("demand", A, 7),
            ("seconds", 0, 0),
            ("assign", Z1, A),
            ("move", R2, C),
            ("talk", 0, 2),
            *(("provider_goes_on", number, 0) for number in range(12)),
        ),
    ),
    # b was silent when a acknowledged the release; then a lost its disk, and with it the mark.
    "a donor that loses its disk between release and grant": Schedule(
        ScheduleStart(2, (), (*SETTLED, ("demand", B, 12))),
        (
            *(("talk", 0, 2), ("talk", 0, 1)),
            *(("cut_off", B, 0), ("jump", 1, 0), ("jump", 1, 0), ("jump", 0, 0)),
            *(("round", A, 0), ("round", A, 0), ("lose_disk", A, 0), ("round", A, 0)),
            *(("cut_off", B, 0), ("round", B, 0), ("sweep", 0, 0), ("round", B, 0)),
        ),
    ),
}


@pytest.mark.parametrize("schedule", BROKE.values(), ids=BROKE)
def test_it_breaks_none_any_more(schedule: Schedule) -> None:
    with rig() as play_it:
        assert play_it(schedule, True).broken is None
