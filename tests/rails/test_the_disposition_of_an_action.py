"""Each action meets the rails in one order; the first that has something against it decides."""

from dataclasses import replace

import pytest

from bigfleet.model.actions import ActionKind as K
from bigfleet.model.machines import MachineState as S
from bigfleet.model.pauses import Pause, PauseSource
from bigfleet.model.rails import rails_passed
from bigfleet.model.reasons import Reason
from bigfleet.model.shard_views import Disposition as D
from bigfleet.model.shard_views import DrainStage, DrainView
from bigfleet.shard.rails.dispositions import Limits
from tests.rails.situations import Shard, action

PAUSE = Pause("p-1", PauseSource.RPC, owner="jane", reason="moving the zone")
HELD = Reason("rail.thrash-hold", {"left": 60})
REST = Reason("rail.backoff", {"subject": "cluster shop", "what": "a blob that did not come"})
VETO = Reason("rail.verifier", {"invariant": "spend ceiling"})


def drain(kind: K, stage: DrainStage = DrainStage.NOTIFY) -> DrainView:
    return DrainView("bf1-1", kind, stage, acked=False, evicted=False, deadline=0)


def everything_against() -> Shard:
    """Machine m has a Reclaim decided, and every rail has something against it."""
    shard = Shard(
        pending={"m"},
        pause=PAUSE,
        states={"m": S.IDLE},
        held={"m": HELD},
        resting={"m": REST},
        vetoed={"m": VETO},
        limits=Limits(dry_run=True, reclaim_cap_fraction=0.01, max_actions=1, room=0),
    )
    shard.window.started(["shop"], 1_700_000_000 * 10**9)
    return shard


def test_nothing_against_it_is_enqueued_without_a_reason() -> None:
    (ruling,) = Shard().dispose(action(K.BOOTSTRAP, "m")).rulings
    assert (ruling.disposition, ruling.reason) == (D.ENQUEUED, None)


def test_the_rails_come_in_one_order() -> None:
    shard = everything_against()
    # A Bootstrap of higher urgency takes the budget and the room of the one cycle.
    rival = action(K.BOOTSTRAP, "rival", "other", priority=10)
    reclaim = action(K.RECLAIM, "m")
    rulings = []

    def ruling() -> None:
        rulings.append(shard.rulings(rival, reclaim)[1])

    ruling()
    shard.pending.clear()
    ruling()
    shard.pause = None
    ruling()
    shard.limits = replace(shard.limits, dry_run=False)
    ruling()
    shard.states.clear()
    ruling()
    shard.held.clear()
    ruling()
    shard.limits = replace(shard.limits, reclaim_cap_fraction=0.0)
    ruling()
    shard.resting.clear()
    ruling()
    shard.limits = replace(shard.limits, max_actions=0)
    ruling()
    shard.vetoed.clear()
    ruling()
    shard.limits = replace(shard.limits, room=2)
    ruling()
    # What people are told an action has passed is this order too.
    assert [len(rails_passed(each)) for each in dict.fromkeys(rulings)] == list(range(10))
    assert rulings == [
        D.DEDUPED,
        D.SUPPRESSED,
        D.DRY_RUN,
        D.INAPPLICABLE,
        D.HELD,
        D.CAPPED,
        D.DEFERRED,
        D.DEFERRED,
        D.VETOED,
        D.DROPPED,
        D.ENQUEUED,
    ]


@pytest.mark.parametrize("kind", list(K), ids=lambda k: k.label)
def test_a_machine_with_an_action_under_way_gets_no_second_one(kind: K) -> None:
    assert Shard(pending={"m"}).rulings(action(kind, "m")) == [D.DEDUPED]


def test_a_drain_under_way_is_not_begun_again() -> None:
    shard = Shard(drains={"m": drain(K.RECLAIM)})
    (ruling,) = shard.dispose(action(K.RECLAIM, "m")).rulings
    assert ruling.disposition is D.DEDUPED
    assert ruling.reason is not None
    assert ruling.reason.text == "an earlier Reclaim of m is still under way"


def test_a_preempt_hurries_a_reclaim_of_the_same_machine() -> None:
    shard = Shard(drains={"m": drain(K.RECLAIM, DrainStage.EVICTING)})
    assert shard.rulings(action(K.PREEMPT, "m")) == [D.ENQUEUED]


@pytest.mark.parametrize(
    "under_way",
    [drain(K.RECLAIM, DrainStage.PROVIDER), drain(K.PREEMPT)],
    ids=["a reclaim the provider works on", "another preempt"],
)
def test_a_preempt_comes_too_late_for(under_way: DrainView) -> None:
    assert Shard(drains={"m": under_way}).rulings(action(K.PREEMPT, "m")) == [D.DEDUPED]


@pytest.mark.parametrize(
    ("kind", "fits"),
    [
        (K.BOOTSTRAP, S.IDLE),
        (K.DELETE, S.IDLE),
        (K.PROVISION, S.SPECULATIVE),
        (K.RECLAIM, S.CONFIGURED),
        (K.PREEMPT, S.CONFIGURED),
    ],
    ids=lambda value: value.label,
)
def test_an_action_fits_one_state_only(kind: K, fits: S) -> None:
    shard = Shard()
    outcome = {}
    for state in S:
        shard.states["m"] = state
        outcome[state] = shard.rulings(action(kind, "m"))[0]
    assert [state for state, ruling in outcome.items() if ruling is D.ENQUEUED] == [fits]
    assert set(outcome.values()) == {D.ENQUEUED, D.INAPPLICABLE}


def test_an_open_breaker_stops_what_asks_for_something_new_and_no_drain() -> None:
    shard = Shard(broken={"acme"})
    actions = [action(kind, f"m-{kind}") for kind in K]
    stopped = [
        a.kind for a, f in zip(actions, shard.rulings(*actions), strict=True) if f is D.DEFERRED
    ]
    assert stopped == [K.BOOTSTRAP, K.PROVISION, K.DELETE]


def test_every_reason_of_a_rail_has_a_sentence() -> None:
    shard = everything_against()
    (ruling,) = shard.dispose(action(K.RECLAIM, "m")).rulings
    shard.pending.clear()
    (paused,) = shard.dispose(action(K.RECLAIM, "m")).rulings
    assert ruling.reason is not None
    assert paused.reason is not None
    assert ruling.reason.text == "an earlier action of m is still under way"
    assert paused.reason.text == "paused by jane: moving the zone"
