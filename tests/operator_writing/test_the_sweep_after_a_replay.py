"""Objects whose machine the shard no longer names: gone, or failed where a Node is left."""

from bigfleet.edge.clock import SECOND
from bigfleet.model.machines import MachineState
from tests.operator_writing.machines import START, Cluster, node, told

S = MachineState


def swept(cluster: Cluster) -> dict[str, list[str]]:
    return {name: cluster.settle(name) for name in cluster.plans.on_replay_ended()}


def restarted(*states: MachineState) -> Cluster:
    """Machines m-0, m-1 ... in these states, and an operator that has just connected."""
    cluster = Cluster()
    for number, state in enumerate(states):
        cluster.say(told(state, f"m-{number}"))
    cluster.restart()
    cluster.plans.on_connected(START)
    return cluster


def test_an_object_whose_machine_was_not_replayed_is_deleted() -> None:
    cluster = restarted(S.CONFIGURED, S.CONFIGURED)
    cluster.say(told(S.CONFIGURED, "m-0"))
    assert swept(cluster) == {"un-m-1": ["delete"]}


def test_with_its_node_still_there_it_is_marked_failed_once() -> None:
    cluster = restarted(S.CONFIGURED)
    cluster.nodes["m-0"] = node("node-7")
    assert swept(cluster) == {"un-m-0": ["status_update"]}
    assert cluster.phase("un-m-0") == "Failed"
    assert "Node node-7 is still there" in cluster.status("un-m-0")["lastError"]
    assert cluster.look("m-0") == []


def test_a_failed_leftover_goes_when_its_node_goes() -> None:
    cluster = restarted(S.CONFIGURED)
    cluster.nodes["m-0"] = node("node-7")
    swept(cluster)
    del cluster.nodes["m-0"]
    assert cluster.look("m-0") == ["delete"]


def test_the_node_an_object_refers_to_counts_only_while_it_is_that_node() -> None:
    cluster = Cluster()
    cluster.nodes["m-0"] = node("node-7", "uid-1")
    cluster.say(told(S.CONFIGURED, "m-0"))
    del cluster.nodes["m-0"]
    cluster.restart()
    cluster.plans.on_connected(START)
    cluster.nodes["node-7"] = node("node-7", "uid-2")
    assert swept(cluster) == {"un-m-0": ["delete"]}


def test_a_drained_object_goes_even_with_its_node_there() -> None:
    cluster = restarted(S.DRAINING)
    cluster.objects["un-m-0"]["status"]["phase"] = "Drained"
    cluster.restart()
    cluster.plans.on_connected(START)
    cluster.nodes["m-0"] = node()
    assert swept(cluster) == {"un-m-0": ["delete"]}


def test_nothing_is_swept_before_the_replay_is_over() -> None:
    cluster = restarted(S.CONFIGURED)
    assert cluster.look("m-0") == []


def test_nothing_is_written_while_no_session_is_open() -> None:
    cluster = restarted(S.CONFIGURED, S.CONFIGURED)
    swept_names = cluster.plans.on_replay_ended()
    cluster.plans.on_update(told(S.DRAINING, "m-0"), START)
    cluster.plans.on_disconnected()
    assert cluster.plans.next_write("un-m-0", START) is None
    assert [cluster.plans.next_write(name, START) for name in swept_names] == [None, None]


def test_a_new_session_starts_with_a_new_replay() -> None:
    cluster = restarted(S.CONFIGURED)
    cluster.say(told(S.CONFIGURED, "m-0"))
    cluster.plans.on_replay_ended()
    cluster.plans.on_disconnected()
    cluster.plans.on_connected(START + 60 * SECOND)
    assert cluster.look("m-0") == []
    assert swept(cluster) == {"un-m-0": ["delete"]}


def test_an_object_of_an_unknown_writer_is_swept_too() -> None:
    cluster = Cluster()
    cluster.objects["un-of-old"] = {"metadata": {"name": "un-of-old", "uid": "u-9"}, "spec": {}}
    cluster.restart()
    cluster.plans.on_connected(START)
    assert swept(cluster) == {"un-of-old": ["delete"]}


def test_a_configured_machine_without_a_node_is_told_of_once_after_ten_minutes() -> None:
    cluster = Cluster()
    cluster.say(told(S.CONFIGURED))
    assert cluster.plans.tick(START + 599 * SECOND) == []
    (missing,) = cluster.plans.tick(START + 600 * SECOND)
    assert (missing.about.kind, missing.about.name, missing.about.uid) == (
        "UpcomingNode",
        "un-m-1",
        "u-1",
    )
    assert "machine m-1 is Configured and has had no Node for 10 minutes" in missing.message
    assert cluster.plans.nodes_missing == 1
    assert cluster.plans.tick(START + 700 * SECOND) == []


def test_a_node_that_comes_ends_the_complaint_and_its_loss_starts_another() -> None:
    cluster = Cluster()
    cluster.say(told(S.CONFIGURED))
    cluster.plans.tick(START + 600 * SECOND)
    cluster.nodes["m-1"] = node()
    cluster.plans.tick(START + 700 * SECOND)
    assert cluster.plans.nodes_missing == 0
    del cluster.nodes["m-1"]
    assert cluster.plans.tick(START + 1299 * SECOND) == []
    assert len(cluster.plans.tick(START + 1300 * SECOND)) == 1


def test_no_node_is_missed_while_no_session_is_open() -> None:
    cluster = Cluster()
    cluster.say(told(S.CONFIGURED))
    cluster.plans.on_disconnected()
    assert cluster.plans.tick(START + 3600 * SECOND) == []


def test_no_node_is_missed_of_a_machine_that_is_still_configuring() -> None:
    cluster = Cluster()
    cluster.say(told(S.CONFIGURING))
    assert cluster.plans.tick(START + 3600 * SECOND) == []
