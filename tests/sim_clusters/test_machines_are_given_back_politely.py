"""Reclaim: cordon, say so, evict within the budgets, say that it is done."""

from bigfleet.model.machines import MachineState
from bigfleet.model.session_frames import BootstrapRequest, BootstrapResponse, ReclaimAck
from bigfleet.sim.workloads import web
from tests.sim_clusters.clusters import (
    T0,
    connected,
    filled,
    later,
    node_update,
    reclaim,
    reconnect,
    without_reports,
)


def test_the_first_acknowledgement_comes_with_the_cordon_and_before_any_eviction() -> None:
    operator = connected(filled(5, "m1"))
    assert operator.on_frame(reclaim("m1"), T0) == [ReclaimAck("bf1-1", 1)]
    assert operator.cluster.nodes["m1"].cordoned
    assert operator.cluster.running == 5


def test_completion_is_told_when_the_node_is_empty() -> None:
    operator = connected(filled(5, "m1"))
    operator.cluster.scale(web("web"), 1)
    operator.on_frame(reclaim("m1"), T0)
    assert without_reports(operator.tick(later(2))) == [ReclaimAck("bf1-1", 1)]
    assert operator.cluster.nodes["m1"].pods == {}


def test_evictions_never_leave_more_pods_without_a_place_than_the_budget_allows() -> None:
    """Of 40 pods one tenth may be missing; the node's five cannot go at once."""
    operator = connected(filled(40, *(f"m{n}" for n in range(8))))
    cluster = operator.cluster
    operator.on_frame(reclaim("m0"), T0)
    assert without_reports(operator.tick(later(1))) == []
    assert cluster.pending() == {"web": 4}
    assert without_reports(operator.tick(later(2))) == []
    assert cluster.pending() == {"web": 4}
    cluster.on_node_state(node_update("m9"))
    cluster.schedule()
    assert without_reports(operator.tick(later(3))) == [ReclaimAck("bf1-1", 1)]


def test_at_the_deadline_it_says_that_pods_are_left() -> None:
    operator = connected(filled(10, "m1", "m2"))
    operator.on_frame(reclaim("m1", grace=5), T0)
    operator.tick(later(1))
    assert without_reports(operator.tick(later(5))) == [ReclaimAck("bf1-1", 0)]


def test_a_repeat_within_the_session_shortens_the_grace_and_is_not_answered() -> None:
    """A second answer would read as done."""
    operator = connected(filled(10, "m1", "m2"))
    operator.on_frame(reclaim("m1", grace=600), T0)
    assert operator.on_frame(reclaim("m1", grace=3), later(1)) == []
    assert ReclaimAck("bf1-1", 0) in operator.tick(later(4))


def test_a_new_session_is_answered_anew_and_nothing_is_done_twice() -> None:
    operator = connected(filled(5, "m1", "m2"))
    operator.cluster.scale(web("web"), 1)
    operator.on_frame(reclaim("m1"), T0)
    operator.tick(later(2))
    operator.on_disconnected()
    reconnect(operator, "m1", "m2", at=later(3))
    again = operator.on_frame(reclaim("m1"), later(3))
    assert again == [ReclaimAck("bf1-1", 1), ReclaimAck("bf1-1", 1)]


def test_other_shards_instructions_are_acknowledged_once() -> None:
    operator = connected(filled(0, "m1"))
    assert operator.on_frame(reclaim("m1", "go-7"), T0) == [ReclaimAck("go-7", 1)]
    assert without_reports(operator.tick(later(2))) == []


def test_a_node_nobody_knows_is_reported_as_evicted() -> None:
    operator = connected(filled(0))
    said = operator.on_frame(reclaim("gone"), T0)
    assert said == [ReclaimAck("bf1-1", 0), ReclaimAck("bf1-1", 1)]


def test_configured_calls_a_reclaim_off() -> None:
    operator = connected(filled(10, "m1", "m2"))
    operator.on_frame(reclaim("m1"), T0)
    operator.tick(later(1))
    operator.on_frame(node_update("m1"), later(2))
    assert not operator.cluster.nodes["m1"].cordoned
    operator.cluster.schedule()
    assert without_reports(operator.tick(later(3))) == []
    assert operator.cluster.pending() == {}


def test_a_machine_that_left_takes_its_drain_with_it() -> None:
    operator = connected(filled(10, "m1", "m2"))
    operator.on_frame(reclaim("m1"), T0)
    operator.on_frame(node_update("m1", MachineState.DRAINING), later(1))
    operator.on_frame(node_update("m1", MachineState.IDLE), later(2))
    assert operator.drains == {}
    assert without_reports(operator.tick(later(3))) == []


def test_a_bootstrap_blob_is_handed_out_at_once() -> None:
    operator = connected(filled(0))
    [blob] = operator.on_frame(BootstrapRequest("r-1", "shop"), T0)
    assert isinstance(blob, BootstrapResponse)
    assert (blob.request_id, blob.error) == ("r-1", "")
    assert blob.user_data
