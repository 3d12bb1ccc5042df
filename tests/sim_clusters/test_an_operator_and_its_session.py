"""When an operator speaks, and that nothing happens to its nodes while nobody hears it."""

from bigfleet.model.session_frames import Acknowledgement, Hello
from bigfleet.sim.cluster import Cluster
from bigfleet.sim.operator import Operator, Report, Said
from bigfleet.sim.workloads import web
from tests.sim_clusters.clusters import (
    T0,
    connected,
    filled,
    later,
    node_update,
    reclaim,
    reconnect,
    replay,
)


def reports(said: list[Said]) -> int:
    return sum(isinstance(each, Report) for each in said)


def test_a_session_begins_with_a_second_hello_and_the_whole_demand() -> None:
    cluster = Cluster("shop")
    cluster.scale(web("web"), 3)
    operator = Operator(cluster)
    assert operator.hello == Hello("shop", "v1alpha1+reclaim-done")
    hello, report = operator.on_connected(T0)
    assert hello == operator.hello
    assert report == Report(tuple(cluster.needs()))


def test_a_rollup_is_sent_every_ten_seconds_without_any_change() -> None:
    operator = connected(filled(0))
    sent = [seconds for seconds in range(1, 31) if reports(operator.tick(later(seconds)))]
    assert sent == [10, 20, 30]


def test_a_change_is_told_a_second_after_it_and_several_at_once() -> None:
    operator = connected(filled(0))
    operator.tick(later(1))
    operator.cluster.scale(web("web"), 3)
    assert not reports(operator.tick(later(2)))
    operator.cluster.scale(web("api"), 3)
    [report] = operator.tick(later(3))
    assert report == Report(tuple(operator.cluster.needs()))
    assert operator.tick(later(4)) == []


def test_nothing_changes_while_it_is_disconnected() -> None:
    operator = connected(filled(10, "m1", "m2"))
    operator.on_frame(reclaim("m1", grace=5), T0)
    operator.on_disconnected()
    placed = {name: dict(node.pods) for name, node in operator.cluster.nodes.items()}
    assert [operator.tick(later(seconds)) for seconds in range(1, 60)] == [[]] * 59
    assert {name: dict(node.pods) for name, node in operator.cluster.nodes.items()} == placed
    assert operator.cluster.nodes["m1"].cordoned


def test_a_drain_goes_on_after_a_reconnect_that_asks_for_it_again() -> None:
    operator = connected(filled(10, "m1", "m2"))
    operator.on_frame(reclaim("m1"), T0)
    operator.on_disconnected()
    operator.on_connected(later(30))
    replay(operator, node_update("m1"), node_update("m2"), reclaim("m1"), at=later(30))
    assert operator.cluster.nodes["m1"].cordoned
    operator.tick(later(32))
    assert operator.cluster.pending() == {"web": 1}


def test_a_drain_nobody_asks_for_again_is_over_and_its_node_is_open() -> None:
    operator = connected(filled(10, "m1", "m2"))
    operator.on_frame(reclaim("m1"), T0)
    operator.on_disconnected()
    reconnect(operator, "m1", "m2", at=later(30))
    assert operator.drains == {}
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
