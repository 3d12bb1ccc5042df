"""R06, the operator's half: an instruction that comes again is handled once and answered again."""

from bigfleet.model.machines import MachineState
from bigfleet.model.session_frames import NodeStateUpdate, ReclaimInstruction
from tests.operator_draining.stage import ID, Stage, joined, pod_record

WEB = pod_record("web-0")
CONFIGURED = NodeStateUpdate("m-1", "shop", MachineState.CONFIGURED, "n-1")


def drop_the_stream(stage: Stage, remaining: int) -> None:
    stage.disconnect()
    stage.wait(60)
    stage.connect(CONFIGURED, asked=ReclaimInstruction(ID, ("n-1",), remaining))


def test_a_stream_dropped_before_the_answer() -> None:
    stage = joined(WEB)
    stage.asks(grace=600)
    drop_the_stream(stage, 540)
    assert stage.cordons() == ["n-1", "n-1"]
    stage.answer_cordons()
    assert stage.acks() == [(ID, 1)]
    assert stage.evictions() == [WEB]


def test_a_stream_dropped_after_the_answer_and_before_the_end() -> None:
    stage = joined(WEB)
    stage.asks(grace=600)
    stage.answer_cordons()
    assert stage.acks() == [(ID, 1)]
    stage.evictions()
    drop_the_stream(stage, 540)
    assert stage.cordons() == []
    assert stage.acks() == [(ID, 1)]
    stage.evict(WEB)
    assert stage.acks() == [(ID, 1)]
    assert stage.counts.of("reclaims_total", result="evicted") == 1


def test_a_stream_dropped_with_the_completion_on_it() -> None:
    stage = joined(WEB)
    stage.asks(grace=600)
    stage.answer_cordons()
    stage.evict(WEB)
    stage.wait(1)
    assert stage.acks() == [(ID, 1), (ID, 1)]
    drop_the_stream(stage, 540)
    assert stage.acks() == [(ID, 1), (ID, 1)]
    assert stage.counts.of("reclaims_total", result="evicted") == 1


def test_a_duplicate_in_one_session_is_not_answered_since_the_shard_counts_answers() -> None:
    stage = joined(WEB)
    stage.asks()
    stage.asks()
    stage.answer_cordons()
    stage.asks()
    assert stage.acks() == [(ID, 1)]
    assert stage.evictions() == [WEB]


def test_less_grace_is_adopted_and_more_is_not() -> None:
    stage = joined(WEB)
    stage.asks(grace=600)
    stage.answer_cordons()
    drop_the_stream(stage, 30)
    stage.asks(grace=9999)
    stage.acks()
    stage.wait(29)
    assert stage.acks() == []
    stage.wait(1)
    assert stage.acks() == [(ID, 0)]
