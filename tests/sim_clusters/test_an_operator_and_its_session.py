"""When an operator speaks, and that nothing happens to its nodes while no shard hears it."""

from bigfleet.model.cluster_reports import ClusterReportReply
from bigfleet.model.session_frames import Acknowledgement, Hello
from bigfleet.sim.cluster import Cluster
from bigfleet.sim.operator import Operator, Rollup
from bigfleet.sim.workloads import web
from tests.sim_clusters.clusters import (
    T0,
    connected,
    filled,
    later,
    node_update,
    pods_on_all,
    preempt,
    reconnect,
    replay,
    rollups,
)


def test_a_session_begins_with_a_second_hello_and_the_whole_demand() -> None:
    operator = connected(filled(3))
    assert operator.hello == Hello("shop", "v1alpha1+reclaim-done")
    operator.on_disconnected()
    hello, rollup = operator.on_connected(T0)
    assert hello == operator.hello
    assert rollup == Rollup(tuple(operator.cluster.needs()))


def test_the_first_rollup_of_a_process_waits_for_what_its_predecessor_had_asked_for() -> None:
    operator = Operator(filled(3))
    assert operator.on_connected(T0) == [operator.hello]
    assert operator.report_is_due(T0)
    [rollup] = operator.on_reply(ClusterReportReply(), T0)
    assert rollup == Rollup(tuple(operator.cluster.needs()))


def test_a_shard_that_does_not_answer_gets_its_rollup_after_three_seconds() -> None:
    operator = Operator(filled(3))
    operator.on_connected(T0)
    sent = [seconds for seconds in range(1, 6) if rollups(operator.tick(later(seconds)))]
    assert sent == [3]


def test_a_rollup_is_sent_every_ten_seconds_without_any_change() -> None:
    operator = connected(filled(0))
    sent = [seconds for seconds in range(1, 31) if rollups(operator.tick(later(seconds)))]
    assert sent == [10, 20, 30]


def test_a_report_is_sent_every_ten_seconds_and_more_often_while_a_pod_waits() -> None:
    operator = connected(filled(0))
    sent = []
    for seconds in range(31):
        if operator.report_is_due(later(seconds)):
            operator.report(later(seconds))
            sent.append(seconds)
        if seconds == 20:
            operator.cluster.scale(web("web"), 1, later(20))
    assert sent == [0, 10, 20, 22, 24, 26, 28, 30]


def test_a_change_is_told_a_second_after_it_and_several_at_once() -> None:
    operator = connected(filled(0))
    operator.tick(later(1))
    operator.cluster.scale(web("web"), 3, later(1))
    operator.cluster.schedule(later(1))
    assert not rollups(operator.tick(later(2)))
    operator.cluster.scale(web("api"), 3, later(2))
    operator.cluster.schedule(later(2))
    [rollup] = operator.tick(later(3))
    assert rollup == Rollup(tuple(operator.cluster.needs()))
    assert operator.tick(later(4)) == []


def test_nothing_changes_while_it_is_disconnected() -> None:
    operator = connected(filled(10, "m1", "m2"))
    operator.on_frame(preempt("m1", grace=5), T0)
    operator.on_disconnected()
    placed = pods_on_all(operator.cluster)
    assert [operator.tick(later(seconds)) for seconds in range(1, 60)] == [[]] * 59
    assert not operator.report_is_due(later(60))
    assert pods_on_all(operator.cluster) == placed
    assert operator.cluster.nodes["m1"].cordoned


def test_a_drain_goes_on_after_a_reconnect_that_asks_for_it_again() -> None:
    operator = connected(filled(10, "m1", "m2"))
    operator.on_frame(preempt("m1"), T0)
    operator.on_disconnected()
    operator.on_connected(later(30))
    replay(operator, node_update("m1"), node_update("m2"), preempt("m1"), at=later(30))
    assert operator.cluster.nodes["m1"].cordoned
    operator.tick(later(32))
    assert operator.cluster.pending() == {"web": 1}


def test_a_drain_that_is_not_asked_for_again_is_over_and_its_node_is_open() -> None:
    operator = connected(filled(10, "m1", "m2"))
    operator.on_frame(preempt("m1"), T0)
    operator.on_disconnected()
    reconnect(operator, "m1", "m2", at=later(30))
    assert operator.drains.open == {}
    assert not operator.cluster.nodes["m1"].cordoned


def test_machines_the_replay_does_not_name_are_gone() -> None:
    operator = connected(filled(10, "m1", "m2"))
    operator.on_disconnected()
    reconnect(operator, "m2", at=later(30))
    assert set(operator.cluster.nodes) == {"m2"}
    assert operator.cluster.pending() == {"web": 5}


def test_until_the_second_hello_is_answered_no_machine_is_given_up() -> None:
    operator = connected(filled(10, "m1", "m2"))
    operator.on_disconnected()
    operator.on_connected(later(30))
    operator.on_frame(Acknowledgement("hello"), later(30))
    operator.on_frame(node_update("m1"), later(30))
    assert operator.replaying
    assert set(operator.cluster.nodes) == {"m1", "m2"}


def test_a_report_names_empty_unusable_and_lost_machines_and_stuck_pods() -> None:
    cluster = filled(5, "m1", "m2", "m3")
    operator = connected(cluster)
    cluster.delete_node(cluster.nodes["m3"], later(1))
    early, late = operator.report(later(2)), operator.report(later(30))
    assert (early.nodes_ready, early.nodes_missing) == (2, 1)
    assert (early.empty_machines, early.unusable_machines) == (("m2",), ("m3",))
    assert early.lost == ()
    assert [(lost.machine_id, lost.cause) for lost in late.lost] == [("m3", "node_gone")]


def test_a_cluster_that_nothing_happened_to_tells_nothing_special() -> None:
    operator = Operator(Cluster("ml"))
    report = operator.report(T0)
    assert (report.empty_machines, report.lost, report.stuck, report.ask) == ((), (), (), ())
