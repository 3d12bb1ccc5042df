"""Over random orders of frames, news, answers, losses and time the laws of draining hold."""

from typing import NamedTuple

from hypothesis import given, settings, strategies
from hypothesis.strategies import SearchStrategy

from bigfleet.model.machines import MachineState
from tests.operator_draining.lagging_cluster import MACHINES, LaggingCluster

S = MachineState


class Step(NamedTuple):
    """A method of the cluster and what it is called with."""

    name: str
    arguments: tuple[object, ...]


def step(name: str, *arguments: SearchStrategy[object]) -> SearchStrategy[Step]:
    return strategies.tuples(*arguments).map(lambda drawn: Step(name, drawn))


#: Mostly one of them, so that what happens meets.
machine = strategies.sampled_from((*MACHINES, *MACHINES[:1] * 3))
pod = strategies.sampled_from(("a", "b", "c"))
state = strategies.sampled_from((S.CONFIGURED, S.CONFIGURED, S.DRAINING, S.FAILED))
grace = strategies.sampled_from((5, 60, 600))
how = strategies.sampled_from(("done", "failed", "lost"))
seconds = strategies.sampled_from((0.1, 1.0, 3.0, 30.0, 600.0))

#: How often each is drawn: sessions are long enough for a drain to get somewhere.
OFTEN = (
    (1, step("connect")),
    (1, step("disconnect")),
    (1, step("restart")),
    (3, step("whole_session", strategies.booleans())),
    (2, step("end_replay")),
    (4, step("tell", machine, state)),
    (6, step("ask", machine, strategies.integers(0, 1), grace)),
    (4, step("put_pod", pod, machine)),
    (2, step("end_pod", pod)),
    (2, step("a_person_cordons", machine, strategies.booleans())),
    (2, step("a_person_uncordons", machine)),
    (4, step("deliver")),
    (2, step("go_blind", strategies.booleans())),
    (2, step("look")),
    (6, step("answer", strategies.integers(0, 5), how)),
    (5, step("work")),
    (4, step("tick", seconds)),
    (4, step("come_to_rest")),
)
steps = strategies.one_of([each for times, each in OFTEN for _ in range(times)])

#: Around a drain that is under way: what decides whether its Node is called empty.
NEAR_THE_END = (
    (3, step("put_pod", pod, machine)),
    (3, step("end_pod", pod)),
    (2, step("a_person_uncordons", machine)),
    (3, step("go_blind", strategies.booleans())),
    (3, step("look")),
    (2, step("deliver")),
    (6, step("answer", strategies.integers(0, 2), how)),
    (6, step("tick", seconds)),
    (2, step("work")),
    (1, step("whole_session", strategies.just(True))),
    (1, step("ask", machine, strategies.integers(0, 1), grace)),
    (1, step("tell", machine, state)),
)
endings = strategies.one_of([each for times, each in NEAR_THE_END for _ in range(times)])


@settings(max_examples=settings().max_examples * 2)
@given(strategies.lists(steps, min_size=15, max_size=50))
def test_the_laws_hold_for_any_order_of_events(schedule: list[Step]) -> None:
    lagging = LaggingCluster()
    lagging.whole_session(again=False)
    for name, arguments in schedule:
        getattr(lagging, name)(*arguments)
        assert lagging.connected or lagging.rig.drains.due_at(lagging.at) is None


@given(strategies.lists(endings, min_size=5, max_size=40))
def test_nothing_is_called_empty_that_the_server_does_not_call_so(schedule: list[Step]) -> None:
    lagging = LaggingCluster()
    lagging.whole_session(again=False)
    lagging.ask("m-1", 0, 600)
    lagging.answer(0, "done")
    for name, arguments in schedule:
        getattr(lagging, name)(*arguments)
    lagging.come_to_rest()
