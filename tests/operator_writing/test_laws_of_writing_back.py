"""After any order of events an object settles, and says what was said last."""

from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from bigfleet.model.machines import MachineState
from bigfleet.operator.upcoming_nodes import phase_of
from tests.operator_writing.machines import START, Cluster, node, told

MACHINE, NAME = "m-1", "un-m-1"
STATES = [state for state in MachineState if state is not MachineState.IDLE]

Step = Callable[[Cluster], None]


def _say_without_writing(state: MachineState) -> Step:
    def step(cluster: Cluster) -> None:
        cluster.plans.on_update(told(state, last_error=state.label), START)

    return step


def _write(cluster: Cluster) -> None:
    cluster.look()


def _node_comes(cluster: Cluster) -> None:
    cluster.nodes[MACHINE] = node(uid=f"uid-{cluster.version}")


def _node_turns_unusable(cluster: Cluster) -> None:
    cluster.nodes[MACHINE] = node(ready=False)


def _node_goes(cluster: Cluster) -> None:
    cluster.nodes.pop(MACHINE, None)


def _user_deletes(cluster: Cluster) -> None:
    cluster.objects.pop(NAME, None)
    cluster.plans.seen.on_cached(NAME, None)


def _restart(cluster: Cluster) -> None:
    cluster.restart()
    cluster.plans.on_connected(START)


def _replay_ends(cluster: Cluster) -> None:
    for name in cluster.plans.on_replay_ended():
        cluster.settle(name)


CHANGES = (
    _write,
    _node_comes,
    _node_turns_unusable,
    _node_goes,
    _user_deletes,
    _restart,
    _replay_ends,
)
steps = st.lists(
    st.one_of(
        st.sampled_from(MachineState).map(_say_without_writing),
        st.sampled_from(CHANGES),
    ),
    max_size=12,
)


@given(steps, st.sampled_from(STATES))
@settings(deadline=None)
def test_what_was_said_last_is_what_the_object_says(before: list[Step], last: MachineState) -> None:
    cluster = Cluster()
    for step in before:
        step(cluster)
    cluster.say(told(last, last_error="x"))
    assert cluster.look() == []
    joined = cluster.nodes.get(MACHINE)
    assert cluster.phase() == phase_of(
        last,
        has_node=joined is not None,
        is_usable=joined is not None and joined.is_ready,
    )
    assert cluster.status()["lastError"] == "x"


@given(steps)
@settings(deadline=None)
def test_a_machine_drained_and_idle_leaves_no_object(before: list[Step]) -> None:
    cluster = Cluster()
    for step in before:
        step(cluster)
    cluster.plans.on_update(told(MachineState.DRAINING), START)
    cluster.say(told(MachineState.IDLE))
    assert cluster.objects == {}


@given(steps, st.sampled_from(STATES))
@settings(deadline=None)
def test_a_successor_with_the_same_news_writes_nothing(
    before: list[Step], last: MachineState
) -> None:
    cluster = Cluster()
    for step in before:
        step(cluster)
    cluster.say(told(last))
    _restart(cluster)
    assert cluster.say(told(last)) == []
    _replay_ends(cluster)
    assert cluster.written == []


@given(steps)
@settings(deadline=None)
def test_nothing_is_planned_without_a_session(before: list[Step]) -> None:
    cluster = Cluster()
    for step in before:
        step(cluster)
    cluster.plans.on_disconnected()
    cluster.plans.on_update(told(MachineState.CONFIGURED), START)
    assert cluster.look() == []
    assert cluster.plans.tick(START + 10**13) == []
