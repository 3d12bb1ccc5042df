"""A cluster that shrinks has thousands of drains open; each finds its own, none asks all others."""

import pytest

from bigfleet.edge.clock import ManualClock
from bigfleet.edge.counts import Counts
from bigfleet.model.machines import MachineState
from bigfleet.model.session_frames import NodeStateUpdate, ReclaimInstruction
from bigfleet.operator.drain_index import DrainIndex
from bigfleet.operator.drains import Drains, Step
from bigfleet.operator.evictions import Evictions
from tests.kube_api import FakeApiServer
from tests.operator_draining.cluster import running
from tests.operator_draining.rig import Rig, node_record, pod_record

S = MachineState


def test_a_drain_is_found_by_all_that_it_is_about_and_by_nothing_it_was() -> None:
    index = DrainIndex()
    index.note("bf1-one", {"n-1"}, {"m-1"}, {"n-1"})
    index.note("bf1-two", {"n-2"}, {"m-1"}, {"m-1"})
    assert index.about(node="n-1") == {"bf1-one"}
    assert index.about(machine="m-1") == {"bf1-one", "bf1-two"}
    assert index.about(entries=["m-1", "n-7"]) == {"bf1-two"}
    index.note("bf1-one", {"n-3"}, (), {"n-1"})
    assert index.about(node="n-1", machine="m-1") == {"bf1-two"}
    index.forget("bf1-two")
    assert index.about(node="n-2", machine="m-1", entries=["m-1"]) == set()
    index.forget("bf1-two")


def test_what_one_node_has_left_forgets_nothing_of_another() -> None:
    evictions = Evictions(lambda: 0.5, Counts())
    one, two = pod_record("a", "n-1"), pod_record("b", "n-2")
    assert [step.pod for step in evictions.ask("bf1-one", [one], 0)] == [one]
    assert [step.pod for step in evictions.ask("bf1-two", [two], 0)] == [two]
    evictions.on_blocked(two, "no", 2, 0)
    evictions.forget({"n-1"})
    assert two.uid in evictions.obstacles
    assert list(evictions.ask("bf1-two", [two], 1)) == []
    assert [step.pod for step in evictions.ask("bf1-one", [one], 1)] == [one]


def test_two_hundred_machines_go_each_with_its_own_answers() -> None:
    rig, many = Rig(), range(200)
    for number in many:
        rig.has_node(node_record(f"n-{number}"))
        rig.has_pod(pod_record(f"web-{number}", f"n-{number}"))
    states = [NodeStateUpdate(f"m-{n}", "shop", S.CONFIGURED, f"n-{n}") for n in many]
    rig.connect(*states)
    for number in many:
        asked = ReclaimInstruction(f"bf1-{number}", (f"n-{number}",), 600)
        rig.steps += rig.drains.on_instruction(asked, rig.at)
    rig.answer_cordons()
    assert rig.acks() == [(f"bf1-{number}", 1) for number in many]
    for pod in rig.evictions():
        rig.evict(pod)
    rig.wait(2)
    assert sorted(rig.acks()) == sorted((f"bf1-{number}", 1) for number in many)
    for number in many:
        rig.tells(S.IDLE, f"m-{number}", f"n-{number}")
    assert rig.drains.open_instructions == []
    assert rig.drains.due_at(rig.at) is None


async def test_an_answer_to_one_drain_does_not_make_all_others_look_around(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ticks: list[int] = []
    tick = Drains.tick

    def counted(drains: Drains, at: int) -> Step:
        ticks.append(at)
        return tick(drains, at)

    monkeypatch.setattr(Drains, "tick", counted)
    clock = ManualClock()
    async with FakeApiServer() as server, running(server, 1, clock) as cluster:
        cluster.has_node("n-1")
        for number in range(40):
            cluster.has_pod(f"web-{number}")
        await cluster.until(lambda: len(cluster.pods_on_nodes) == 40)
        cluster.connect()
        cluster.asks()
        await cluster.until(lambda: cluster.evictions() == 40 and len(cluster.pods_on_nodes) == 0)
        assert len(ticks) < 10, "time stands still, so only the first look is due"
        await clock.advance(1)
        await cluster.until(lambda: cluster.answers == [("bf1-one", 1), ("bf1-one", 1)])
