"""After the cordon: the largest first, few at a time, and not a pod more when room is gone."""

from bigfleet.model.machines import MachineState
from bigfleet.operator.drain_steps import DrainPhase, DrainStanding
from bigfleet.operator.pods_on_nodes import PodOnNode
from bigfleet.operator.reclaim_admission import MOST_EMPTYING
from bigfleet.placement.admission import RefusedBy
from tests.operator_draining.admitting import AdmittingStage, two_machines
from tests.operator_draining.stage import ID

S = MachineState


def evicting(stage: AdmittingStage) -> AdmittingStage:
    """n-1 is admitted, cordoned and answered for; the first evictions are not taken yet."""
    stage.asks()
    stage.wait(20)
    stage.answer_cordons()
    assert stage.acks() == [(ID, 1)]
    return stage


def named(pods: list[PodOnNode]) -> list[str]:
    return [pod.key.name for pod in pods]


def moves(stage: AdmittingStage, pod: PodOnNode, cpu: str = "1", to: str = "n-2") -> None:
    """It is evicted, ends, and its successor is bound."""
    stage.evict(pod)
    stage.runs(f"{pod.key.name}-again", to, cpu)


def test_the_largest_go_first_and_five_at_a_time() -> None:
    stage = two_machines()
    for number in range(3, 10):
        stage.runs(f"p{number}", cpu=f"{number}00m")
    evicting(stage)
    first = stage.evictions()
    assert named(first) == ["p9", "p8", "p7", "p6", "p5"]
    for pod in first:
        stage.evict(pod)
    stage.wait(10)
    assert stage.evictions() == []
    stage.runs("p9-again", "n-2", "900m")
    stage.wait(1)
    assert named(stage.evictions()) == ["p4"]


def test_a_successor_that_does_not_come_counts_as_none() -> None:
    stage = two_machines()
    for number in range(3, 9):
        stage.runs(f"p{number}", cpu=f"{number}00m")
    evicting(stage)
    for pod in stage.evictions():
        stage.evict(pod)
    stage.wait(29)
    assert stage.evictions() == []
    stage.wait(2)
    assert named(stage.evictions()) == ["p3"]


def test_a_drain_whose_rest_no_longer_fits_is_called_off() -> None:
    stage = two_machines(other="6")
    large = stage.runs("large", cpu="3")
    small = stage.runs("small-0", cpu="500m")
    evicting(stage)
    assert stage.evictions() == [large, small]
    stage.told()
    moves(stage, large, "3")
    stage.refuse(small)
    stage.runs("neighbour", "n-2", "3")
    stage.wait(5)
    assert stage.evictions() == []
    assert stage.acks() == [(ID, 0)]
    assert stage.uncordons() == ["n-1"]
    stage.answer_cordons()
    assert not stage.is_cordoned()
    assert stage.counts.of("reclaims_total", result="called_off") == 1
    assert stage.counts.of("reclaims_refused_total", reason="no-room") == 1
    assert [each.code for each in stage.refusals.refused] == [RefusedBy.NO_ROOM]
    assert stage.sent_demand() == 1
    standing = stage.drains.drain_of("m-1")
    assert isinstance(standing, DrainStanding)
    assert standing.phase is DrainPhase.KEPT
    assert standing.last_error.startswith("called off: pod shop/small-")


def test_a_drain_that_was_called_off_stays_so() -> None:
    stage = called_off()
    stage.wait(1200)
    assert (stage.evictions(), stage.acks(), stage.cordons()) == ([], [], [])
    stage.tells(S.CONFIGURED)
    assert stage.drains.open_instructions == []
    assert stage.admissions.sizes()["admitted"] == 0


def called_off() -> AdmittingStage:
    """By a pod that came before the cordon was seen, and fits nowhere."""
    stage = two_machines(other="4")
    evicting(stage)
    stage.runs("late", cpu="5")
    stage.wait(1)
    assert stage.acks() == [(ID, 0)]
    stage.answer_cordons()
    assert not stage.is_cordoned()
    return stage


def test_an_empty_node_that_is_not_empty_after_all_is_checked_before_anything_is_evicted() -> None:
    stage = called_off()
    assert stage.evictions() == []


def test_a_pod_that_is_annotated_meanwhile_calls_it_off() -> None:
    stage = two_machines()
    stage.asks()
    stage.answer_cordons()
    assert stage.acks() == [(ID, 1)]
    stage.runs("late", keep="karpenter.sh/do-not-disrupt: true")
    stage.wait(1)
    assert stage.evictions() == []
    assert stage.acks() == [(ID, 0)]
    assert stage.counts.of("reclaims_refused_total", reason="do-not-disrupt") == 1


def test_a_budget_that_is_used_up_by_our_own_evictions_is_waited_for() -> None:
    stage = two_machines()
    one, two = stage.runs("web-0"), stage.runs("web-1")
    stage.budgets.allowed = 1
    evicting(stage)
    assert named(stage.evictions()) == ["web-0", "web-1"]
    stage.budgets.allowed = 0
    moves(stage, one)
    stage.refuse(two)
    stage.wait(1)
    assert (stage.acks(), stage.evictions()) == ([], [])
    stage.wait(2)
    assert named(stage.evictions()) == ["web-1"]


def test_nothing_is_evicted_by_caches_that_may_be_old() -> None:
    stage = two_machines()
    stage.runs("web-0")
    stage.asks()
    stage.wait(20)
    stage.pods_are_fresh = False
    stage.answer_cordons()
    stage.wait(60)
    assert stage.evictions() == []
    stage.pods_are_fresh = True
    stage.wait(1)
    assert named(stage.evictions()) == ["web-0"]


def test_promised_room_is_not_promised_twice() -> None:
    stage = two_machines()
    stage.room(3, "8")
    stage.tells(S.CONFIGURED, "m-3", "n-3")
    stage.runs("a", "n-1", "5")
    stage.runs("b", "n-2", "5")
    stage.asks("n-1", instruction="bf1-one")
    stage.wait(20)
    stage.answer_cordons()
    stage.asks("n-2", instruction="bf1-two")
    stage.wait(20)
    assert not stage.is_cordoned("n-2")
    assert {each.node for each in stage.refusals.refused} == {"n-2"}


def test_only_so_many_nodes_are_emptied_at_once_and_the_others_follow() -> None:
    many = range(1, MOST_EMPTYING + 4)
    stage = AdmittingStage()
    stage.room(99, "999")
    for number in many:
        stage.room(number)
        stage.runs(f"web-{number}", f"n-{number}")
    stage.join(99, *many)
    for number in many:
        stage.asks(f"n-{number}", instruction=f"bf1-{number}")
    stage.wait(60)
    assert len(stage.refusals.admitted) == MOST_EMPTYING
    for _ in range(20):
        stage.answer_cordons()
        for pod in stage.evictions():
            moves(stage, pod, to="n-99")
        stage.wait(1)
    assert len(stage.refusals.admitted) == len(many)
    assert stage.refusals.refused == []


# -- what is not checked --------------------------------------------------------------------------


def test_a_preemption_spares_annotated_pods_until_the_end_of_its_grace() -> None:
    stage = two_machines()
    stage.runs("keep", keep="karpenter.sh/do-not-disrupt: true")
    stage.runs("web-0")
    stage.preempts(grace=120)
    stage.answer_cordons()
    assert named(stage.evictions()) == ["web-0"]
    stage.wait(89)
    assert stage.evictions() == []
    stage.wait(1)
    assert named(stage.evictions()) == ["keep"]


def test_a_short_grace_is_halved() -> None:
    stage = two_machines()
    stage.runs("keep", keep="karpenter.sh/do-not-disrupt: true")
    stage.preempts(grace=10)
    stage.answer_cordons()
    stage.wait(4)
    assert stage.evictions() == []
    stage.wait(1)
    assert named(stage.evictions()) == ["keep"]
