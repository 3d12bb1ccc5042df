"""The outbox against an obvious list: order, replacement in place, what is being sent, bounds."""

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from bigfleet.model.machines import MachineState
from bigfleet.model.session_frames import (
    Acknowledgement,
    AvailableCapacityUpdate,
    Confidence,
    NodeStateUpdate,
    ReclaimInstruction,
    ShardFrame,
    supersedes_key_of,
)
from bigfleet.shard.sessions.outbox import Outbox, estimated_bytes
from tests.sessions.rig import update


@dataclass
class ObviousOutbox:
    """A list, searched from end to end."""

    queue: list[tuple[ShardFrame, int]] = field(default_factory=list)
    sending: list[tuple[ShardFrame, int]] = field(default_factory=list)

    def put(self, frame: ShardFrame, at: int) -> bool:
        key = supersedes_key_of(frame)
        for place, (queued, since) in enumerate(self.queue):
            if key and supersedes_key_of(queued) == key:
                self.queue[place] = (frame, since)
                return True
        self.queue.append((frame, at))
        return False

    def replay(self, machines: list[str], states: dict[str, MachineState], at: int) -> None:
        self.queue += [(update(machine, states[machine]), at) for machine in machines]

    def take(self, limit: int) -> list[ShardFrame]:
        self.sending, self.queue = self.queue[:limit], self.queue[limit:]
        return [frame for frame, _ in self.sending]

    @property
    def bytes(self) -> int:
        return sum(estimated_bytes(frame) for frame, _ in self.queue + self.sending)

    @property
    def oldest_at(self) -> int | None:
        return min((since for _, since in self.sending + self.queue), default=None)


def hint(count: int) -> AvailableCapacityUpdate:
    return AvailableCapacityUpdate("p=1", (), count, Confidence.HIGH, 1.0)


MACHINES = [f"m{i}" for i in range(4)]
FRAMES: st.SearchStrategy[ShardFrame] = st.one_of(
    st.builds(update, st.sampled_from(MACHINES), st.sampled_from(list(MachineState))),
    st.builds(hint, st.integers(0, 3)),
    st.builds(Acknowledgement, st.sampled_from(["hello", "rollup"])),
    st.builds(ReclaimInstruction, st.sampled_from(["bf1-1", "bf1-2"]), st.just(("n",)), st.just(9)),
)
STEPS = st.lists(st.one_of(FRAMES, st.integers(0, 5), st.just("sent")), max_size=40)


@given(STEPS)
def test_it_does_what_an_obvious_list_does(steps: list[ShardFrame | int | str]) -> None:
    outbox, obvious = Outbox(), ObviousOutbox()
    for at, step in enumerate(steps):
        if isinstance(step, int):
            assert outbox.take(step, at) == obvious.take(step)
        elif isinstance(step, str):
            outbox.sent()
            obvious.sending = []
        else:
            assert outbox.put(step, at) == obvious.put(step, at)
        assert outbox.frames == len(obvious.queue) + len(obvious.sending)
        assert outbox.bytes == obvious.bytes
        assert outbox.oldest_at == obvious.oldest_at
        assert outbox.waiting == bool(obvious.queue)


@given(st.integers(0, 4), STEPS)
def test_a_replay_reads_like_frames_that_were_queued(
    size: int, steps: list[ShardFrame | int | str]
) -> None:
    machines = MACHINES[:size]
    states = dict.fromkeys(machines, MachineState.CONFIGURED)
    outbox, obvious = Outbox(), ObviousOutbox()
    for each in (outbox, obvious):
        each.put(Acknowledgement("hello"), 0)
    outbox.put_replay(machines, lambda m: update(m, states[m]), 0)
    obvious.replay(machines, states, 0)
    for at, step in enumerate(steps):
        if isinstance(step, int):
            assert outbox.take(step, at) == obvious.take(step)
        elif not isinstance(step, str):
            assert outbox.put(step, at) == obvious.put(step, at)
        assert outbox.waiting == bool(obvious.queue)
        assert outbox.frames + outbox.replay_left == len(obvious.queue) + len(obvious.sending)
    rest = outbox.take(1000, 99)
    assert rest == obvious.take(1000)


def test_a_frame_that_is_being_sent_is_not_replaced() -> None:
    outbox = Outbox()
    outbox.put(update("m1", MachineState.CONFIGURING), 0)
    assert outbox.take(10, 1) == [update("m1", MachineState.CONFIGURING)]
    assert not outbox.put(update("m1"), 2)
    assert outbox.take(10, 3) == [update("m1")]


def test_replaced_frames_do_not_look_younger() -> None:
    outbox = Outbox()
    for at in range(100):
        outbox.put(update("m1"), at)
    assert outbox.oldest_at == 0
    assert outbox.frames == 1


def test_a_machine_that_is_gone_is_left_out_of_the_replay() -> None:
    outbox = Outbox()
    outbox.put_replay(["m1", "m2", "m3"], lambda m: None if m == "m2" else update(m), 0)
    assert outbox.take(2, 0) == [update("m1"), update("m3")]


def test_a_replay_that_is_being_read_does_not_age() -> None:
    outbox = Outbox()
    outbox.put_replay(MACHINES, update, 0)
    outbox.put(Acknowledgement("hello"), 0)
    ages = []
    for at in range(10, 60, 10):
        outbox.take(1, at)
        oldest = outbox.oldest_at
        ages.append(None if oldest is None else at - oldest)
    assert ages == [0, 0, 0, 0, 10]


def test_a_hundred_thousand_machines_make_no_frames_before_they_are_read() -> None:
    made: list[str] = []

    def make(machine: str) -> NodeStateUpdate:
        made.append(machine)
        return update(machine)

    outbox = Outbox()
    outbox.put_replay([f"m{i:06d}" for i in range(100_000)], make, 0)
    first = outbox.take(2, 0)
    assert [frame.machine_id for frame in first if isinstance(frame, NodeStateUpdate)] == made
    assert (outbox.frames, outbox.replay_left, len(made)) == (2, 99_998, 2)


def reclaim(node: str) -> ReclaimInstruction:
    return ReclaimInstruction("bf1-1", (node,), 600)


def test_what_is_said_after_a_reclaim_is_heard_after_it() -> None:
    """Told Configured, an operator takes its cordon off; told so before, it would evict for ever"""
    outbox = Outbox()
    outbox.put(update("m1"), 0)
    outbox.put(reclaim("m1"), 1)
    assert not outbox.put(update("m1"), 2)
    assert outbox.put(update("m1", MachineState.DRAINING), 3)
    frames = [update("m1"), reclaim("m1"), update("m1", MachineState.DRAINING)]
    assert outbox.frames == len(frames)
    assert outbox.take(10, 4) == frames
    outbox.sent()
    assert outbox.bytes == 0


def test_what_is_said_after_a_replayed_reclaim_is_heard_after_it() -> None:
    outbox = Outbox()
    outbox.put_replay(["m1", "m2"], update, 0)
    outbox.put(reclaim("node-of-m1"), 0)
    kept = NodeStateUpdate("m1", "shop", MachineState.CONFIGURED, "node-of-m1")
    assert not outbox.put(kept, 1)
    assert outbox.put(update("m2", MachineState.DRAINING), 1)
    assert outbox.take(10, 2) == [
        update("m1"),
        update("m2", MachineState.DRAINING),
        reclaim("node-of-m1"),
        kept,
    ]


def test_a_reclaim_that_was_taken_keeps_nothing_back() -> None:
    outbox = Outbox()
    outbox.put(reclaim("m1"), 0)
    outbox.take(10, 1)
    outbox.put(update("m1"), 2)
    assert outbox.put(update("m1", MachineState.DRAINING), 3)
    assert outbox.take(10, 4) == [update("m1", MachineState.DRAINING)]
