"""A machine that nobody claims is given back only if its pods have a place to go."""

import pytest

from bigfleet.kube.names import RECLAIM
from bigfleet.model.machines import MachineState
from bigfleet.model.session_frames import ReclaimInstruction
from bigfleet.operator.drain_steps import DrainPhase, DrainStanding
from bigfleet.placement.admission import RefusedBy
from tests.operator_draining.admitting import DELAY, AdmittingStage, two_machines
from tests.operator_draining.stage import ID, node_record

S = MachineState
KEEP = "bigfleet.lucy.sh/do-not-disrupt: true"


def asked(stage: AdmittingStage, seconds: float = 20) -> AdmittingStage:
    """Asked for n-1, and time for the first check."""
    stage.asks()
    stage.wait(seconds)
    return stage


def is_untouched(stage: AdmittingStage) -> bool:
    return not stage.cordons() and not stage.is_cordoned() and not stage.acks()


# -- admission ------------------------------------------------------------------------------------


def test_an_instruction_is_left_alone_until_it_is_fifteen_seconds_old() -> None:
    stage = two_machines()
    stage.runs("web-0")
    asked(stage, DELAY - 1)
    assert is_untouched(stage)
    stage.wait(10)
    assert stage.cordons() == ["n-1"]
    stage.answer_cordons()
    assert stage.acks() == [(ID, 1)]
    assert [pod.key.name for pod in stage.evictions()] == ["web-0"]
    assert stage.refusals.admitted == ["n-1"]


def test_a_machine_that_is_claimed_again_meanwhile_never_hears_of_it() -> None:
    stage = two_machines()
    stage.runs("web-0")
    asked(stage, 10)
    stage.tells(S.CONFIGURED)
    stage.wait(600)
    assert is_untouched(stage)
    assert stage.drains.open_instructions == []


def test_an_empty_node_passes_at_once() -> None:
    stage = two_machines()
    stage.asks()
    assert stage.cordons() == ["n-1"]
    stage.answer_cordons()
    stage.wait(1)
    assert stage.acks() == [(ID, 1), (ID, 1)]


def test_a_pod_that_fits_nowhere_else_keeps_the_machine() -> None:
    stage = two_machines(other="4")
    stage.runs("web-0", cpu="5")
    asked(stage)
    assert is_untouched(stage)
    (refusal,) = stage.refusals.refused
    assert (refusal.code, refusal.pod and refusal.pod.key) == (RefusedBy.NO_ROOM, "shop/web-0")
    assert stage.sent_demand() == 1
    assert stage.reasons() == [("Node", "ReclaimRefused"), ("Pod", "ReclaimRefused")]
    assert stage.counts.of("reclaims_refused_total", reason="no-room") == 1
    text = (
        "not given back now: pod shop/web-0 would find no place on the other Nodes "
        "(1 x not enough cpu)"
    )
    assert stage.drains.drain_of("m-1") == DrainStanding(ID, DrainPhase.KEPT, text)


def test_a_refusal_is_looked_at_again_and_told_once() -> None:
    stage = two_machines(other="4")
    stage.runs("web-0", cpu="5")
    asked(stage, 120)
    assert len(stage.refusals.refused) > 2
    assert len(stage.told()) == 2
    assert stage.counts.of("reclaims_refused_total", reason="no-room") == 1
    stage.room(3)
    stage.wait(DELAY)
    assert stage.cordons() == ["n-1"]


def test_demand_that_did_not_change_is_not_sent() -> None:
    stage = two_machines(other="4")
    stage.refusals.revises = False
    stage.runs("web-0", cpu="5", owner="")
    asked(stage)
    assert stage.sent_demand() == 0


def test_the_shard_that_claims_it_again_ends_a_refused_drain() -> None:
    stage = two_machines(other="4")
    stage.runs("web-0", cpu="5")
    asked(stage)
    stage.tells(S.CONFIGURED)
    assert stage.drains.open_instructions == []
    assert stage.counts.of("reclaims_total", result="refused") == 1
    stage.wait(600)
    assert is_untouched(stage)


def test_a_refused_drain_is_not_answered_at_its_deadline_either() -> None:
    stage = two_machines(other="4")
    stage.runs("web-0", cpu="5")
    asked(stage, 700)
    assert is_untouched(stage)
    stage.room(3)
    stage.wait(60)
    assert is_untouched(stage), "its time is over"


@pytest.mark.parametrize(
    ("keep", "owner", "allowed", "code"),
    [
        (KEEP, "web", None, RefusedBy.DO_NOT_DISRUPT),
        ("", "", None, RefusedBy.NO_CONTROLLER),
        ("", "web", 0, RefusedBy.BUDGET),
    ],
    ids=["annotated", "no controller", "a budget"],
)
def test_other_reasons_keep_the_machine_too(
    keep: str, owner: str, allowed: int | None, code: RefusedBy
) -> None:
    stage = two_machines()
    stage.budgets.allowed = allowed
    stage.runs("web-0", keep=keep, owner=owner)
    asked(stage)
    assert is_untouched(stage)
    assert [each.code for each in stage.refusals.refused] == [code]


def test_an_annotated_node_stays_even_if_it_is_empty() -> None:
    stage = AdmittingStage()
    stage.room(1, **{"karpenter.sh/do-not-disrupt": "true"})
    stage.join(1)
    asked(stage, 60)
    assert is_untouched(stage)
    assert stage.counts.of("reclaims_refused_total", reason="do-not-disrupt") == 1


def test_nothing_is_admitted_by_caches_that_may_be_old() -> None:
    stage = two_machines()
    stage.runs("web-0")
    stage.pods_are_fresh = False
    asked(stage, 120)
    assert is_untouched(stage)
    stage.pods_are_fresh = True
    stage.wait(2)
    assert stage.cordons() == ["n-1"]


def test_nodes_with_an_open_instruction_offer_no_place() -> None:
    stage = two_machines()
    stage.runs("web-0", "n-1")
    stage.runs("web-1", "n-2")
    stage.asks("n-1", instruction="bf1-one")
    stage.asks("n-2", instruction="bf1-two")
    stage.wait(60)
    assert stage.cordons() == []
    assert {each.node for each in stage.refusals.refused} == {"n-1", "n-2"}


# -- which kind -----------------------------------------------------------------------------------


def test_a_preemption_asks_nobody() -> None:
    stage = two_machines(other="1")
    stage.runs("web-0", cpu="5")
    stage.preempts()
    assert stage.cordons() == ["n-1"]
    stage.answer_cordons()
    assert [pod.key.name for pod in stage.evictions()] == ["web-0"]


def test_a_preemption_for_priority_zero_is_known_by_the_shards_answer() -> None:
    stage = two_machines(other="1")
    stage.runs("web-0", cpu="5")
    stage.preemptions = [ID]
    stage.preempts(priority=0)
    assert is_untouched(stage)
    stage.wait(10)
    assert stage.cordons() == ["n-1"]


def test_a_reclaim_that_becomes_a_preemption_goes_on_whatever_has_room() -> None:
    stage = two_machines(other="1")
    stage.runs("web-0", cpu="5")
    asked(stage)
    assert is_untouched(stage)
    stage.preempts(priority=100, grace=120)
    assert stage.cordons() == ["n-1"]


def test_a_drain_under_way_that_becomes_a_preemption_is_not_called_off() -> None:
    stage = two_machines()
    stage.runs("web-0", cpu="4")
    asked(stage)
    stage.answer_cordons()
    stage.acks()
    assert len(stage.evictions()) == 1
    stage.preempts(grace=120)
    stage.runs("late", "n-2", "6")
    stage.runs("other", cpu="4")
    stage.wait(5)
    assert [pod.key.name for pod in stage.evictions()] == ["other"]


def test_the_kind_is_waited_for() -> None:
    stage = two_machines()
    stage.runs("web-0")
    stage.answers_reports = False
    asked(stage, 25)
    assert is_untouched(stage)
    stage.answers_reports = True
    stage.wait(10)
    assert stage.cordons() == ["n-1"]


def test_a_shard_that_does_not_answer_reports_is_obeyed_as_it_asks() -> None:
    stage = two_machines(other="1")
    stage.runs("web-0", cpu="5")
    stage.kinds.on_unknown()
    stage.asks()
    assert stage.cordons() == ["n-1"]


def test_a_shard_that_stops_to_answer_reports_is_obeyed_after_a_while() -> None:
    stage = two_machines(other="1")
    stage.runs("web-0", cpu="5")
    stage.answers_reports = False
    asked(stage, 29)
    assert is_untouched(stage)
    stage.wait(1)
    assert stage.cordons() == ["n-1"]


def test_a_shard_of_another_kind_is_obeyed_as_it_asks() -> None:
    stage = two_machines(other="1")
    stage.runs("web-0", cpu="5")
    stage.asks(instruction="reclaim-7")
    assert stage.cordons() == ["n-1"]


# -- restarts -------------------------------------------------------------------------------------


def test_a_drain_of_the_process_before_goes_on_and_is_still_checked() -> None:
    stage = AdmittingStage()
    stage.room(1)
    stage.room(2, "4")
    marked = node_record("n-1", cordoned=True)
    marked.metadata.annotations[RECLAIM] = ID
    stage.has_node(marked)
    stage.runs("web-0", cpu="5")
    stage.join(1, 2, asked=ReclaimInstruction(ID, ("n-1",), 500))
    stage.wait(5)
    assert stage.uncordons() == []
    stage.wait(20)
    assert stage.acks() == [(ID, 1), (ID, 0)]
    assert stage.evictions() == []
    assert stage.uncordons() == ["n-1"]
