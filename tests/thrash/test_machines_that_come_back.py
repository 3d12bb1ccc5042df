"""Returns, ping-pong and re-buys: worked cases."""

from bigfleet.model.actions import ActionKind
from bigfleet.model.thrash import ThrashKind
from tests.thrash.traces import HOLD, OFFERING, Told, need

SHOP, ML = need("shop"), need("ml", "train")


def test_a_machine_that_comes_back_within_the_dwell_time_is_a_return() -> None:
    told = Told()
    told.reclaim("m-1", SHOP)
    told.wait(599)
    told.bind("m-1", SHOP)
    assert told.kinds == [ThrashKind.RETURN]
    assert [(each.kind, each.machine) for each in told.found[0].witness] == [
        (ActionKind.RECLAIM, "m-1"),
        (ActionKind.BOOTSTRAP, "m-1"),
    ]


def test_one_that_comes_back_later_is_not() -> None:
    told = Told()
    told.reclaim("m-1", SHOP)
    told.wait(601)
    told.bind("m-1", SHOP)
    assert told.found == []


def test_another_profile_or_cluster_or_machine_is_not_a_return() -> None:
    told = Told()
    told.reclaim("m-1", SHOP)
    told.bind("m-1", need("shop", "other"))
    told.reclaim("m-2", SHOP)
    told.bind("m-2", ML)
    told.bind("m-3", SHOP)
    assert told.found == []


def test_a_drain_that_was_given_up_is_not_a_departure() -> None:
    told = Told()
    told.preempt("m-1", of=SHOP, by=ML)
    told.detector.abandon("m-1")
    told.bind("m-1", SHOP)
    assert told.found == []


def test_a_drain_that_still_goes_on_is_not_one_either() -> None:
    told = Told()
    told.preempt("m-1", of=SHOP, by=ML)
    told.bind("m-1", SHOP)
    assert told.kinds == []


def test_one_departure_is_told_once() -> None:
    """The Bootstrap is tried again after its blob came too late."""
    told = Told()
    told.reclaim("m-1", SHOP)
    told.bind("m-1", SHOP)
    told.wait(60)
    told.bind("m-1", SHOP)
    assert told.kinds == [ThrashKind.RETURN]


def test_a_machine_that_vanished_and_came_back_did_not_thrash() -> None:
    told = Told()
    told.reclaim("m-1", SHOP)
    told.detector.forget("m-1")
    told.bind("m-1", SHOP)
    assert told.found == []


def test_there_and_back_between_two_clusters_is_ping_pong() -> None:
    told = Told()
    told.reclaim("m-1", SHOP)
    told.bind("m-1", ML)
    told.wait(1200)
    told.reclaim("m-1", ML)
    told.bind("m-1", SHOP)
    assert told.kinds == [ThrashKind.PING_PONG]
    assert [each.cluster for each in told.found[0].witness] == ["shop", "ml", "ml", "shop"]


def test_there_and_back_in_more_than_the_window_is_not() -> None:
    told = Told()
    told.reclaim("m-1", SHOP)
    told.bind("m-1", ML)
    told.wait(1801)
    told.reclaim("m-1", ML)
    told.bind("m-1", SHOP)
    assert told.found == []


def test_round_a_circle_of_three_clusters_is_not_ping_pong() -> None:
    told, batch = Told(), need("batch")
    for here, there in ((SHOP, ML), (ML, batch), (batch, SHOP)):
        told.reclaim("m-1", here)
        told.bind("m-1", there)
        told.wait(400)
    assert told.found == []


def test_a_bootstrap_that_is_tried_again_does_not_hide_ping_pong() -> None:
    told = Told()
    told.reclaim("m-1", SHOP)
    told.bind("m-1", ML)
    told.bind("m-1", ML)
    told.wait(601)
    told.reclaim("m-1", ML)
    told.bind("m-1", SHOP)
    assert told.kinds == [ThrashKind.PING_PONG]


def test_what_is_released_and_bought_again_within_its_hold_is_a_rebuy() -> None:
    told = Told()
    told.release("od-1")
    told.wait(HOLD)
    told.buy("od-7", SHOP)
    assert told.kinds == [ThrashKind.REBUY]
    assert [each.machine for each in told.found[0].witness] == ["od-1", "od-7"]


def test_after_its_hold_it_is_not() -> None:
    told = Told()
    told.release("od-1")
    told.wait(HOLD + 1)
    told.buy("od-7", SHOP)
    assert told.found == []


def test_another_offering_is_not_a_rebuy() -> None:
    told = Told()
    told.release("od-1")
    told.buy("sp-1", SHOP, offering="cloud/m5.large/a/Spot")
    told.bind("od-2", SHOP)
    assert told.found == []


def test_each_release_answers_for_one_purchase() -> None:
    told = Told()
    told.release("od-1")
    told.release("od-2")
    for name in ("od-3", "od-4", "od-5"):
        told.buy(name, SHOP)
    assert told.kinds == [ThrashKind.REBUY] * 2


def test_a_delete_that_did_not_work_is_not_a_release() -> None:
    told = Told()
    told.release("od-1")
    told.found.clear()
    told._begin(ActionKind.DELETE, "od-2", need("", ""), offering=OFFERING, hold_seconds=HOLD)
    told.detector.abandon("od-2")
    told.buy("od-3", SHOP)
    told.buy("od-4", SHOP)
    assert told.kinds == [ThrashKind.REBUY]
