"""Every disposition is counted under its name; a dry-run tells each action with its reason."""

from bigfleet.model.actions import ActionKind as K
from bigfleet.shard.effects import Effects
from bigfleet.shard.instructions import Log, WakeCycle
from bigfleet.shard.rails.dispositions import Limits, record
from tests.rails.situations import Shard, action, reclaims


def test_a_dry_run_writes_one_line_per_action_with_reason_and_cluster() -> None:
    effects = Effects()
    shard = Shard(limits=Limits(dry_run=True))
    disposed = shard.dispose(action(K.BOOTSTRAP, "m-1"), action(K.RECLAIM, "m-2", "web"))
    record(disposed, ("cheapest of 3 free", "not claimed"), 7, effects)
    lines = [i for i in effects.taken() if isinstance(i, Log)]
    told = [(line.event, line.facts["machine"], line.facts["cluster"]) for line in lines]
    assert told == [("dry_run", "m-1", "shop"), ("dry_run", "m-2", "web")]
    assert [line.facts["reason"] for line in lines] == ["cheapest of 3 free", "not claimed"]
    assert effects.counts.of("actions_dryrun_total", kind="Bootstrap") == 1
    assert effects.counts.of("actions_suppressed_total", kind="Bootstrap") == 0


def test_each_disposition_has_its_counter() -> None:
    effects = Effects()
    shard = Shard(
        pending={"busy"},
        broken={"acme"},
        configured={"shop": 20},
        limits=Limits(reclaim_cap_fraction=0.05, room=1),
    )
    actions = (
        action(K.BOOTSTRAP, "busy"),
        action(K.BOOTSTRAP, "late"),
        *reclaims("shop", 3),
        action(K.PREEMPT, "victim", priority=1),
    )
    record(shard.dispose(*actions), [""] * len(actions), 1, effects)
    of = effects.counts.of
    assert of("action_dispositions_total", kind="Preempt", disposition="enqueued") == 1
    assert of("action_dispositions_total", kind="Reclaim", disposition="capped") == 2
    assert of("actions_total", kind="Preempt") == 1
    assert of("actions_deduped_total") == 1
    assert of("actions_deferred_total") == 1
    assert of("actions_dropped_total") == 1
    assert of("reclaims_capped_total") == 2


def test_the_budget_wakes_the_next_cycle() -> None:
    effects = Effects()
    shard = Shard(limits=Limits(max_actions=1, room=9))
    record(shard.dispose(action(K.DELETE, "a"), action(K.DELETE, "b")), ("", ""), 1, effects)
    assert WakeCycle() in effects.taken()
