"""A machine that no Need claims is given back only if its pods have a place to go."""

import pytest

from bigfleet.kube.names import RECLAIM
from bigfleet.model.machines import MachineState
from bigfleet.model.session_frames import ReclaimInstruction
from bigfleet.operator.drain_steps import DrainPhase, DrainStanding
from bigfleet.placement.admission import RefusedBy
from tests.operator_draining.admitting import DELAY, AdmittingRig, two_machines
from tests.operator_draining.rig import ID, node_record

S = MachineState
KEEP = "bigfleet.lucy.sh/do-not-disrupt: true"


def asked(rig: AdmittingRig, seconds: float = 20) -> AdmittingRig:
    """Asked for n-1, and time for the first check."""
    rig.asks()
    rig.wait(seconds)
    return rig


def is_untouched(rig: AdmittingRig) -> bool:
    return not rig.cordons() and not rig.is_cordoned() and not rig.acks()


# -- admission ------------------------------------------------------------------------------------


def test_an_instruction_is_left_alone_until_it_is_fifteen_seconds_old() -> None:
    rig = two_machines()
    rig.runs("web-0")
    asked(rig, DELAY - 1)
    assert is_untouched(rig)
    rig.wait(10)
    assert rig.cordons() == ["n-1"]
    rig.answer_cordons()
    assert rig.acks() == [(ID, 1)]
    assert [pod.key.name for pod in rig.evictions()] == ["web-0"]
    assert rig.refusals.admitted == ["n-1"]


def test_a_machine_that_is_claimed_again_meanwhile_never_hears_of_it() -> None:
    rig = two_machines()
    rig.runs("web-0")
    asked(rig, 10)
    rig.tells(S.CONFIGURED)
    rig.wait(600)
    assert is_untouched(rig)
    assert rig.drains.open_instructions == []


def test_an_empty_node_passes_at_once() -> None:
    rig = two_machines()
    rig.asks()
    assert rig.cordons() == ["n-1"]
    rig.answer_cordons()
    rig.wait(1)
    assert rig.acks() == [(ID, 1), (ID, 1)]


def test_a_pod_that_fits_nowhere_else_keeps_the_machine() -> None:
    rig = two_machines(other="4")
    rig.runs("web-0", cpu="5")
    asked(rig)
    assert is_untouched(rig)
    (refusal,) = rig.refusals.refused
    assert (refusal.code, refusal.pod and refusal.pod.key) == (RefusedBy.NO_ROOM, "shop/web-0")
    assert rig.sent_demand() == 1
    assert rig.reasons() == [("Node", "ReclaimRefused"), ("Pod", "ReclaimRefused")]
    assert rig.counts.of("reclaims_refused_total", reason="no-room") == 1
    text = (
        "not given back now: pod shop/web-0 would find no place on the other Nodes "
        "(1 x not enough cpu)"
    )
    assert rig.drains.drain_of("m-1") == DrainStanding(ID, DrainPhase.KEPT, text)


def test_a_refusal_is_looked_at_again_and_told_once() -> None:
    rig = two_machines(other="4")
    rig.runs("web-0", cpu="5")
    asked(rig, 120)
    assert len(rig.refusals.refused) > 2
    assert len(rig.told()) == 2
    assert rig.counts.of("reclaims_refused_total", reason="no-room") == 1
    rig.room(3)
    rig.wait(DELAY)
    assert rig.cordons() == ["n-1"]


def test_demand_that_did_not_change_is_not_sent() -> None:
    rig = two_machines(other="4")
    rig.refusals.revises = False
    rig.runs("web-0", cpu="5", owner="")
    asked(rig)
    assert rig.sent_demand() == 0


def test_the_shard_that_claims_it_again_ends_a_refused_drain() -> None:
    rig = two_machines(other="4")
    rig.runs("web-0", cpu="5")
    asked(rig)
    rig.tells(S.CONFIGURED)
    assert rig.drains.open_instructions == []
    assert rig.counts.of("reclaims_total", result="refused") == 1
    rig.wait(600)
    assert is_untouched(rig)


def test_a_refused_drain_is_not_answered_at_its_deadline_either() -> None:
    rig = two_machines(other="4")
    rig.runs("web-0", cpu="5")
    asked(rig, 700)
    assert is_untouched(rig)
    rig.room(3)
    rig.wait(60)
    assert is_untouched(rig), "its time is over"


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
    rig = two_machines()
    rig.budgets.allowed = allowed
    rig.runs("web-0", keep=keep, owner=owner)
    asked(rig)
    assert is_untouched(rig)
    assert [each.code for each in rig.refusals.refused] == [code]


def test_an_annotated_node_stays_even_if_it_is_empty() -> None:
    rig = AdmittingRig()
    rig.room(1, **{"karpenter.sh/do-not-disrupt": "true"})
    rig.join(1)
    asked(rig, 60)
    assert is_untouched(rig)
    assert rig.counts.of("reclaims_refused_total", reason="do-not-disrupt") == 1


def test_nothing_is_admitted_by_caches_that_may_be_old() -> None:
    rig = two_machines()
    rig.runs("web-0")
    rig.pods_are_fresh = False
    asked(rig, 120)
    assert is_untouched(rig)
    rig.pods_are_fresh = True
    rig.wait(2)
    assert rig.cordons() == ["n-1"]


def test_nodes_with_an_open_instruction_offer_no_place() -> None:
    rig = two_machines()
    rig.runs("web-0", "n-1")
    rig.runs("web-1", "n-2")
    rig.asks("n-1", instruction="bf1-one")
    rig.asks("n-2", instruction="bf1-two")
    rig.wait(60)
    assert rig.cordons() == []
    assert {each.node for each in rig.refusals.refused} == {"n-1", "n-2"}


# -- which kind -----------------------------------------------------------------------------------


def test_a_preemption_needs_no_place_for_its_pods() -> None:
    rig = two_machines(other="1")
    rig.runs("web-0", cpu="5")
    rig.preempts()
    assert rig.cordons() == ["n-1"]
    rig.answer_cordons()
    assert [pod.key.name for pod in rig.evictions()] == ["web-0"]


def test_a_preemption_for_priority_zero_is_known_by_the_shards_answer() -> None:
    rig = two_machines(other="1")
    rig.runs("web-0", cpu="5")
    rig.preemptions = [ID]
    rig.preempts(priority=0)
    assert is_untouched(rig)
    rig.wait(10)
    assert rig.cordons() == ["n-1"]


def test_a_reclaim_that_becomes_a_preemption_goes_on_without_room_elsewhere() -> None:
    rig = two_machines(other="1")
    rig.runs("web-0", cpu="5")
    asked(rig)
    assert is_untouched(rig)
    rig.preempts(priority=100, grace=120)
    assert rig.cordons() == ["n-1"]


def test_a_drain_under_way_that_becomes_a_preemption_is_not_called_off() -> None:
    rig = two_machines()
    rig.runs("web-0", cpu="4")
    asked(rig)
    rig.answer_cordons()
    rig.acks()
    assert len(rig.evictions()) == 1
    rig.preempts(grace=120)
    rig.runs("late", "n-2", "6")
    rig.runs("other", cpu="4")
    rig.wait(5)
    assert [pod.key.name for pod in rig.evictions()] == ["other"]


def test_the_kind_is_waited_for() -> None:
    rig = two_machines()
    rig.runs("web-0")
    rig.answers_reports = False
    asked(rig, 25)
    assert is_untouched(rig)
    rig.answers_reports = True
    rig.wait(10)
    assert rig.cordons() == ["n-1"]


def test_a_shard_that_does_not_answer_reports_is_obeyed_as_it_asks() -> None:
    rig = two_machines(other="1")
    rig.runs("web-0", cpu="5")
    rig.kinds.on_unknown()
    rig.asks()
    assert rig.cordons() == ["n-1"]


def test_a_shard_that_stops_to_answer_reports_is_obeyed_after_a_while() -> None:
    rig = two_machines(other="1")
    rig.runs("web-0", cpu="5")
    rig.answers_reports = False
    asked(rig, 29)
    assert is_untouched(rig)
    rig.wait(1)
    assert rig.cordons() == ["n-1"]


def test_a_shard_of_another_kind_is_obeyed_as_it_asks() -> None:
    rig = two_machines(other="1")
    rig.runs("web-0", cpu="5")
    rig.asks(instruction="reclaim-7")
    assert rig.cordons() == ["n-1"]


# -- restarts -------------------------------------------------------------------------------------


def test_a_drain_of_the_process_before_goes_on_and_is_still_checked() -> None:
    rig = AdmittingRig()
    rig.room(1)
    rig.room(2, "4")
    marked = node_record("n-1", cordoned=True)
    marked.metadata.annotations[RECLAIM] = ID
    rig.has_node(marked)
    rig.runs("web-0", cpu="5")
    rig.join(1, 2, asked=ReclaimInstruction(ID, ("n-1",), 500))
    rig.wait(5)
    assert rig.uncordons() == []
    rig.wait(20)
    assert rig.acks() == [(ID, 1), (ID, 0)]
    assert rig.evictions() == []
    assert rig.uncordons() == ["n-1"]
