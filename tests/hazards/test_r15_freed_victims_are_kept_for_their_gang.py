"""R15: a gang gets every machine it preempted, however far apart they become free."""

from tests.hazards.virtual_fleet import VirtualFleet, bound, need

VICTIMS = {"m1": 1, "m2": 10, "m3": 60, "m4": 300}
FREE = "m0"
LOW, HIGH, HIGHER = 100, 1000, 5000


def fleet_of_batch() -> VirtualFleet:
    """A gang of five in a rack with one free machine and four of batch, which take their time."""
    own = bound(FREE, "")
    fleet = VirtualFleet([own, *(bound(name, "batch") for name in VICTIMS)], VICTIMS)
    fleet.report("batch", need("batch", 4, LOW))
    fleet.run(2)
    fleet.report("ml", need("ml", 5, HIGH, gang=True))
    fleet.run(1)
    return fleet


def test_r15_a_gang_assembles_while_an_equal_need_asks_all_the_time() -> None:
    fleet = fleet_of_batch()
    fleet.report("web", need("web", 1, HIGH))
    for second in range(320):
        fleet.run(1)
        assert fleet.of("web") == set(), f"stolen after {second} s"
    assert fleet.of("ml") == {FREE, *VICTIMS}
    assert sorted(fleet.preempted) == sorted(VICTIMS)
    assert fleet.counted("preemption_reservation_misses_total") == 0


def test_r15_a_higher_need_may_take_one_and_the_miss_is_counted() -> None:
    fleet = fleet_of_batch()
    fleet.report("vip", need("vip", 1, HIGHER))
    fleet.run(30)
    assert fleet.of("vip") == {"m1"}
    assert fleet.counted("preemption_reservation_misses_total") == 1


def test_r15_what_is_kept_for_a_gang_that_gives_up_is_free_again() -> None:
    fleet = fleet_of_batch()
    fleet.run(20)
    fleet.report("ml")
    fleet.run(400)
    assert len(fleet.of("batch")) == 4
    assert fleet.counted("reservations", kind="preemption") == 0
    assert sorted(fleet.preempted) == sorted(VICTIMS)
