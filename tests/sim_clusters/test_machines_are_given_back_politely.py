"""Reclaim: a place for every pod first, then cordon, say so, evict within the budgets, say so."""

from bigfleet.model.machines import MachineState
from bigfleet.model.session_frames import BootstrapRequest, BootstrapResponse, ReclaimAck
from bigfleet.sim.operator import Operator
from bigfleet.sim.workloads import gang, web
from tests.sim_clusters.clusters import (
    T0,
    cluster_with,
    connected,
    filled,
    is_cordoned,
    later,
    node_update,
    pods_on,
    preempt,
    reclaim,
    reconnect,
    rollups,
    served,
    without_rollups,
)

# -- voluntary ------------------------------------------------------------------------------------


def half_full() -> Operator:
    """Two nodes of five places, with three pods on one and two on the other."""
    cluster = cluster_with("m1")
    cluster.scale(web("web"), 3, T0)
    cluster.schedule(T0)
    cluster.cordon(cluster.nodes["m1"], T0)
    cluster.on_node_state(node_update("m2"), T0)
    cluster.scale(web("api"), 2, T0)
    cluster.schedule(T0)
    cluster.uncordon(cluster.nodes["m1"], T0)
    return connected(cluster)


def test_an_empty_node_goes_at_once() -> None:
    operator = connected(filled(0, "m1"))
    assert operator.on_frame(reclaim("m1"), T0) == [ReclaimAck("bf1-1", 1)]
    assert operator.cluster.nodes["m1"].cordoned
    assert without_rollups(operator.tick(later(1))) == [ReclaimAck("bf1-1", 1)]


def test_a_node_whose_pods_fit_elsewhere_goes_when_the_instruction_is_15_s_old() -> None:
    operator = half_full()
    cluster = operator.cluster
    assert operator.on_frame(reclaim("m2"), T0) == []
    assert without_rollups(operator.tick(later(14))) == []
    assert not is_cordoned(cluster, "m2")
    assert without_rollups(operator.tick(later(15))) == [ReclaimAck("bf1-1", 1)]
    assert is_cordoned(cluster, "m2")
    assert pods_on(cluster, "m2") == {"api": 2}
    for seconds in range(16, 20):
        operator.tick(later(seconds))
        cluster.schedule(later(seconds))
    assert pods_on(cluster, "m1") == {"web": 3, "api": 2}
    assert operator.drains.open == {}


def test_a_node_whose_pods_fit_nowhere_is_refused_and_not_even_cordoned() -> None:
    operator = connected(filled(10, "m1", "m2"))
    operator.on_frame(reclaim("m1"), T0)
    for seconds in range(1, 60):
        assert without_rollups(operator.tick(later(seconds))) == []
    assert operator.drains.refusals > 0
    assert not operator.cluster.nodes["m1"].cordoned
    assert operator.cluster.running == 10


def test_a_refusal_asks_for_the_machine_at_once_so_that_it_stays() -> None:
    operator = connected(filled(10, "m1", "m2"))
    [rollup] = rollups(operator.tick(later(10)))
    operator.on_reply(served(rollup.needs, {"": 2}), later(10))
    operator.tick(later(11))
    operator.on_frame(reclaim("m1"), later(11))
    asked = [rollups(operator.tick(later(seconds))) for seconds in range(12, 27)]
    [last] = asked[-1]
    assert [row.group for row in last.needs] == ["", "margin"]
    assert last.needs[1].aggregate["cpu"] == 1_400


def test_a_refused_instruction_ends_at_its_deadline_without_an_answer() -> None:
    operator = connected(filled(10, "m1", "m2"))
    operator.on_frame(reclaim("m1", grace=30), T0)
    said = [without_rollups(operator.tick(later(seconds))) for seconds in range(1, 40)]
    assert said == [[]] * 39
    assert operator.drains.open == {}
    assert not operator.cluster.nodes["m1"].instruction


def test_a_drain_whose_pods_lose_their_place_meanwhile_is_called_off() -> None:
    operator = half_full()
    cluster = operator.cluster
    operator.on_frame(reclaim("m2"), T0)
    operator.tick(later(15))
    cluster.scale(web("web"), 5, later(15))
    cluster.schedule(later(15))
    for seconds in range(16, 25):
        operator.tick(later(seconds))
        cluster.schedule(later(seconds))
    assert not cluster.nodes["m2"].cordoned
    assert cluster.pending() == {}


# -- preemption, and what both have in common -----------------------------------------------------


def test_the_first_acknowledgement_comes_with_the_cordon_and_before_any_eviction() -> None:
    operator = connected(filled(5, "m1"))
    assert operator.on_frame(preempt("m1"), T0) == [ReclaimAck("bf1-1", 1)]
    assert operator.cluster.nodes["m1"].cordoned
    assert operator.cluster.running == 5


def test_completion_is_told_when_the_node_is_empty() -> None:
    operator = connected(filled(5, "m1"))
    operator.cluster.scale(web("web"), 1, T0)
    operator.on_frame(preempt("m1"), T0)
    assert without_rollups(operator.tick(later(2))) == [ReclaimAck("bf1-1", 1)]
    assert pods_on(operator.cluster, "m1") == {}


def test_an_evicted_pod_is_followed_by_a_new_one_of_its_controller() -> None:
    operator = connected(filled(1, "m1"))
    [before] = operator.cluster.occupancy.movable_on("node-m1")
    operator.on_frame(preempt("m1"), T0)
    operator.tick(later(2))
    [after] = operator.cluster.waiting()
    assert after.owner == before.owner
    assert after.uid != before.uid


def test_evictions_never_leave_more_pods_without_a_place_than_the_budget_allows() -> None:
    """Of 40 pods one tenth may be missing; the node's five cannot go at once."""
    operator = connected(filled(40, *(f"m{n}" for n in range(8))))
    cluster = operator.cluster
    operator.on_frame(preempt("m0"), T0)
    assert without_rollups(operator.tick(later(1))) == []
    assert cluster.pending() == {"web": 4}
    assert without_rollups(operator.tick(later(2))) == []
    assert cluster.pending() == {"web": 4}
    cluster.on_node_state(node_update("m9"), later(3))
    cluster.schedule(later(3))
    assert without_rollups(operator.tick(later(3))) == [ReclaimAck("bf1-1", 1)]


def test_evicting_one_member_of_a_gang_evicts_the_gang() -> None:
    operator = connected(filled(2, "m1", "m2", workload=gang("train")))
    operator.on_frame(preempt("m1"), T0)
    assert without_rollups(operator.tick(later(1))) == [ReclaimAck("bf1-1", 1)]
    assert operator.cluster.pending() == {"train": 2}


def test_at_the_deadline_it_says_that_pods_are_left() -> None:
    operator = connected(filled(10, "m1", "m2"))
    operator.on_frame(preempt("m1", grace=5), T0)
    operator.tick(later(1))
    assert without_rollups(operator.tick(later(5))) == [ReclaimAck("bf1-1", 0)]


def test_a_repeat_within_the_session_shortens_the_grace_and_is_not_answered() -> None:
    """A second answer would read as done."""
    operator = connected(filled(10, "m1", "m2"))
    operator.on_frame(preempt("m1", grace=600), T0)
    assert operator.on_frame(preempt("m1", grace=3), later(1)) == []
    assert ReclaimAck("bf1-1", 0) in operator.tick(later(4))


def test_a_new_session_is_answered_anew_and_nothing_is_done_twice() -> None:
    operator = connected(filled(5, "m1", "m2"))
    operator.cluster.scale(web("web"), 1, T0)
    operator.on_frame(preempt("m1"), T0)
    operator.tick(later(2))
    operator.on_disconnected()
    reconnect(operator, "m1", "m2", at=later(3))
    again = operator.on_frame(preempt("m1"), later(3))
    assert again == [ReclaimAck("bf1-1", 1), ReclaimAck("bf1-1", 1)]


def test_other_shards_instructions_are_acknowledged_once() -> None:
    operator = connected(filled(0, "m1"))
    assert operator.on_frame(reclaim("m1", "go-7"), T0) == [ReclaimAck("go-7", 1)]
    assert without_rollups(operator.tick(later(2))) == []


def test_an_unknown_node_is_reported_as_evicted() -> None:
    operator = connected(filled(0))
    said = operator.on_frame(reclaim("gone"), T0)
    assert said == [ReclaimAck("bf1-1", 0), ReclaimAck("bf1-1", 1)]


def test_configured_calls_a_reclaim_off() -> None:
    operator = connected(filled(10, "m1", "m2"))
    operator.on_frame(preempt("m1"), T0)
    operator.tick(later(1))
    operator.on_frame(node_update("m1"), later(2))
    assert not operator.cluster.nodes["m1"].cordoned
    operator.cluster.schedule(later(2))
    assert without_rollups(operator.tick(later(3))) == []
    assert operator.cluster.pending() == {}


def test_a_machine_that_left_takes_its_drain_with_it() -> None:
    operator = connected(filled(10, "m1", "m2"))
    operator.on_frame(preempt("m1"), T0)
    operator.on_frame(node_update("m1", MachineState.DRAINING), later(1))
    operator.on_frame(node_update("m1", MachineState.IDLE), later(2))
    assert operator.drains.open == {}
    assert operator.drains.admissions.sizes() == {"admitted": 0, "successors": 0}
    assert without_rollups(operator.tick(later(3))) == []


def test_a_bootstrap_blob_is_handed_out_at_once() -> None:
    operator = connected(filled(0))
    [blob] = operator.on_frame(BootstrapRequest("r-1", "shop"), T0)
    assert isinstance(blob, BootstrapResponse)
    assert (blob.request_id, blob.error) == ("r-1", "")
    assert blob.user_data
