"""R06, the operator's half: an instruction that comes again is handled once and answered again."""

from bigfleet.model.machines import MachineState
from bigfleet.model.session_frames import NodeStateUpdate, ReclaimInstruction
from tests.operator_draining.rig import ID, Rig, joined, pod_record

WEB = pod_record("web-0")
CONFIGURED = NodeStateUpdate("m-1", "shop", MachineState.CONFIGURED, "n-1")


def drop_the_stream(rig: Rig, remaining: int) -> None:
    rig.disconnect()
    rig.wait(60)
    rig.connect(CONFIGURED, asked=ReclaimInstruction(ID, ("n-1",), remaining))


def test_a_stream_dropped_before_the_answer() -> None:
    rig = joined(WEB)
    rig.asks(grace=600)
    drop_the_stream(rig, 540)
    assert rig.cordons() == ["n-1", "n-1"]
    rig.answer_cordons()
    assert rig.acks() == [(ID, 1)]
    assert rig.evictions() == [WEB]


def test_a_stream_dropped_after_the_answer_and_before_the_end() -> None:
    rig = joined(WEB)
    rig.asks(grace=600)
    rig.answer_cordons()
    assert rig.acks() == [(ID, 1)]
    rig.evictions()
    drop_the_stream(rig, 540)
    assert rig.cordons() == []
    assert rig.acks() == [(ID, 1)]
    rig.evict(WEB)
    assert rig.acks() == [(ID, 1)]
    assert rig.counts.of("reclaims_total", result="evicted") == 1


def test_a_stream_dropped_with_the_completion_on_it() -> None:
    rig = joined(WEB)
    rig.asks(grace=600)
    rig.answer_cordons()
    rig.evict(WEB)
    rig.wait(1)
    assert rig.acks() == [(ID, 1), (ID, 1)]
    drop_the_stream(rig, 540)
    assert rig.acks() == [(ID, 1), (ID, 1)]
    assert rig.counts.of("reclaims_total", result="evicted") == 1


def test_a_duplicate_in_one_session_is_not_answered_since_the_shard_counts_answers() -> None:
    rig = joined(WEB)
    rig.asks()
    rig.asks()
    rig.answer_cordons()
    rig.asks()
    assert rig.acks() == [(ID, 1)]
    assert rig.evictions() == [WEB]


def test_less_grace_is_adopted_and_more_is_not() -> None:
    rig = joined(WEB)
    rig.asks(grace=600)
    rig.answer_cordons()
    drop_the_stream(rig, 30)
    rig.asks(grace=9999)
    rig.acks()
    rig.wait(29)
    assert rig.acks() == []
    rig.wait(1)
    assert rig.acks() == [(ID, 0)]
