"""Replays from real machines: who is bound, found without looking at everybody."""

from collections.abc import Iterator

import pytest

from bigfleet.model.machines import Host, Machine, MachineState
from bigfleet.model.options import SECOND
from bigfleet.model.session_frames import Hello, NodeStateUpdate
from bigfleet.model.shard_views import StorySource
from bigfleet.shard.events import SessionOpened
from tests.shard_parts import parts_of

START = 1_700_000_000 * SECOND
S = MachineState


class Shard:
    def __init__(self) -> None:
        parts = parts_of(providers={"sim": "sim:1"}, at=START)
        self.machines, self.sessions = parts.machines, parts.sessions

    def add(self, name: str, state: MachineState, cluster: str = "") -> None:
        machine = Machine(name, state, host=Host("sim", f"i-{name}"), cluster=cluster)
        self.machines.insert(machine, "sim", START, "listed")

    def move(self, name: str, state: MachineState, cluster: str = "") -> None:
        machine = Machine(name, state, host=Host("sim", f"i-{name}"), cluster=cluster)
        self.machines.step(machine, START, "moved", adopted=True)

    def open(self, number: int = 1) -> None:
        self.sessions.on_opened(SessionOpened(number, Hello("shop"), "peer", START))

    def read(self, number: int = 1, limit: int = 100) -> Iterator[tuple[str, MachineState]]:
        for frame in self.sessions.take(number, limit):
            if isinstance(frame, NodeStateUpdate):
                yield frame.machine_id, frame.state


@pytest.fixture
def shard() -> Shard:
    shard = Shard()
    shard.add("m1", S.CONFIGURED, "shop")
    shard.add("m2", S.DRAINING, "shop")
    shard.add("m3", S.CONFIGURED, "bank")
    shard.add("m4", S.IDLE)
    return shard


def test_a_cluster_is_told_of_its_machines_in_every_state(shard: Shard) -> None:
    shard.open()
    assert list(shard.read()) == [("m1", S.CONFIGURED), ("m2", S.DRAINING)]


def test_a_machine_that_leaves_during_the_replay_is_told_once_as_it_left(shard: Shard) -> None:
    shard.open()
    shard.move("m2", S.IDLE)
    assert list(shard.read()) == [("m1", S.CONFIGURED), ("m2", S.IDLE)]


def test_a_machine_that_comes_during_the_replay_is_told_after_it(shard: Shard) -> None:
    shard.open()
    shard.move("m4", S.CONFIGURED, "shop")
    shard.move("m1", S.DRAINING, "shop")
    assert list(shard.read()) == [("m1", S.DRAINING), ("m2", S.DRAINING), ("m4", S.CONFIGURED)]


def test_a_machine_that_vanishes_silently_is_left_out(shard: Shard) -> None:
    shard.open()
    shard.machines.remove("m1", START, "not ours any more", StorySource.COORDINATOR)
    assert list(shard.read()) == [("m2", S.DRAINING)]


def test_a_machine_told_in_the_replay_is_told_again_when_it_changes(shard: Shard) -> None:
    shard.open()
    assert list(shard.read(limit=2)) == [("m1", S.CONFIGURED)]
    shard.move("m1", S.DRAINING, "shop")
    assert list(shard.read()) == [("m2", S.DRAINING), ("m1", S.DRAINING)]


def test_a_machine_that_is_preempted_looks_configured_to_its_cluster(shard: Shard) -> None:
    shard.machines.show_as_draining("m1", START)
    shard.open()
    assert dict(shard.read())["m1"] is S.CONFIGURED
