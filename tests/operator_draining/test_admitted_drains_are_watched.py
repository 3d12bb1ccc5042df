"""After the cordon: the largest first, few at a time, and not a pod more when room is gone."""

from bigfleet.model.machines import MachineState
from bigfleet.operator.drain_steps import DrainPhase, DrainStanding
from bigfleet.operator.pods_on_nodes import PodOnNode
from bigfleet.operator.reclaim_admission import MOST_EMPTYING
from bigfleet.placement.admission import RefusedBy
from tests.operator_draining.admitting import AdmittingRig, two_machines
from tests.operator_draining.rig import ID

S = MachineState


def evicting(rig: AdmittingRig) -> AdmittingRig:
    """n-1 is admitted, cordoned and answered for; the first evictions are not taken yet."""
    rig.asks()
    rig.wait(20)
    rig.answer_cordons()
    assert rig.acks() == [(ID, 1)]
    return rig


def named(pods: list[PodOnNode]) -> list[str]:
    return [pod.key.name for pod in pods]


def moves(rig: AdmittingRig, pod: PodOnNode, cpu: str = "1", to: str = "n-2") -> None:
    """It is evicted, ends, and its successor is bound."""
    rig.evict(pod)
    rig.runs(f"{pod.key.name}-again", to, cpu)


def test_the_largest_go_first_and_five_at_a_time() -> None:
    rig = two_machines()
    for number in range(3, 10):
        rig.runs(f"p{number}", cpu=f"{number}00m")
    evicting(rig)
    first = rig.evictions()
    assert named(first) == ["p9", "p8", "p7", "p6", "p5"]
    for pod in first:
        rig.evict(pod)
    rig.wait(10)
    assert rig.evictions() == []
    rig.runs("p9-again", "n-2", "900m")
    rig.wait(1)
    assert named(rig.evictions()) == ["p4"]


def test_a_successor_that_does_not_come_counts_as_none() -> None:
    rig = two_machines()
    for number in range(3, 9):
        rig.runs(f"p{number}", cpu=f"{number}00m")
    evicting(rig)
    for pod in rig.evictions():
        rig.evict(pod)
    rig.wait(29)
    assert rig.evictions() == []
    rig.wait(2)
    assert named(rig.evictions()) == ["p3"]


def test_a_drain_whose_rest_no_longer_fits_is_called_off() -> None:
    rig = two_machines(other="6")
    large = rig.runs("large", cpu="3")
    small = rig.runs("small-0", cpu="500m")
    evicting(rig)
    assert rig.evictions() == [large, small]
    rig.told()
    moves(rig, large, "3")
    rig.refuse(small)
    rig.runs("neighbour", "n-2", "3")
    rig.wait(5)
    assert rig.evictions() == []
    assert rig.acks() == [(ID, 0)]
    assert rig.uncordons() == ["n-1"]
    rig.answer_cordons()
    assert not rig.is_cordoned()
    assert rig.counts.of("reclaims_total", result="called_off") == 1
    assert rig.counts.of("reclaims_refused_total", reason="no-room") == 1
    assert [each.code for each in rig.refusals.refused] == [RefusedBy.NO_ROOM]
    assert rig.sent_demand() == 1
    standing = rig.drains.drain_of("m-1")
    assert isinstance(standing, DrainStanding)
    assert standing.phase is DrainPhase.KEPT
    assert standing.last_error.startswith("called off: pod shop/small-")


def test_a_drain_that_was_called_off_stays_so() -> None:
    rig = called_off()
    rig.wait(1200)
    assert (rig.evictions(), rig.acks(), rig.cordons()) == ([], [], [])
    rig.tells(S.CONFIGURED)
    assert rig.drains.open_instructions == []
    assert rig.admissions.sizes()["admitted"] == 0


def called_off() -> AdmittingRig:
    """By a pod that came before the cordon was seen, and fits nowhere."""
    rig = two_machines(other="4")
    evicting(rig)
    rig.runs("late", cpu="5")
    rig.wait(1)
    assert rig.acks() == [(ID, 0)]
    rig.answer_cordons()
    assert not rig.is_cordoned()
    return rig


def test_an_empty_node_that_is_not_empty_after_all_is_checked_before_anything_is_evicted() -> None:
    rig = called_off()
    assert rig.evictions() == []


def test_a_pod_that_is_annotated_meanwhile_calls_it_off() -> None:
    rig = two_machines()
    rig.asks()
    rig.answer_cordons()
    assert rig.acks() == [(ID, 1)]
    rig.runs("late", keep="karpenter.sh/do-not-disrupt: true")
    rig.wait(1)
    assert rig.evictions() == []
    assert rig.acks() == [(ID, 0)]
    assert rig.counts.of("reclaims_refused_total", reason="do-not-disrupt") == 1


def test_a_budget_that_is_used_up_by_our_own_evictions_is_waited_for() -> None:
    rig = two_machines()
    one, two = rig.runs("web-0"), rig.runs("web-1")
    rig.budgets.allowed = 1
    evicting(rig)
    assert named(rig.evictions()) == ["web-0", "web-1"]
    rig.budgets.allowed = 0
    moves(rig, one)
    rig.refuse(two)
    rig.wait(1)
    assert (rig.acks(), rig.evictions()) == ([], [])
    rig.wait(2)
    assert named(rig.evictions()) == ["web-1"]


def test_nothing_is_evicted_by_caches_that_may_be_old() -> None:
    rig = two_machines()
    rig.runs("web-0")
    rig.asks()
    rig.wait(20)
    rig.pods_are_fresh = False
    rig.answer_cordons()
    rig.wait(60)
    assert rig.evictions() == []
    rig.pods_are_fresh = True
    rig.wait(1)
    assert named(rig.evictions()) == ["web-0"]


def test_promised_room_is_not_promised_twice() -> None:
    rig = two_machines()
    rig.room(3, "8")
    rig.tells(S.CONFIGURED, "m-3", "n-3")
    rig.runs("a", "n-1", "5")
    rig.runs("b", "n-2", "5")
    rig.asks("n-1", instruction="bf1-one")
    rig.wait(20)
    rig.answer_cordons()
    rig.asks("n-2", instruction="bf1-two")
    rig.wait(20)
    assert not rig.is_cordoned("n-2")
    assert {each.node for each in rig.refusals.refused} == {"n-2"}


def test_only_so_many_nodes_are_emptied_at_once_and_the_others_follow() -> None:
    many = range(1, MOST_EMPTYING + 4)
    rig = AdmittingRig()
    rig.room(99, "999")
    for number in many:
        rig.room(number)
        rig.runs(f"web-{number}", f"n-{number}")
    rig.join(99, *many)
    for number in many:
        rig.asks(f"n-{number}", instruction=f"bf1-{number}")
    rig.wait(60)
    assert len(rig.refusals.admitted) == MOST_EMPTYING
    for _ in range(20):
        rig.answer_cordons()
        for pod in rig.evictions():
            moves(rig, pod, to="n-99")
        rig.wait(1)
    assert len(rig.refusals.admitted) == len(many)
    assert rig.refusals.refused == []


# -- what is not checked --------------------------------------------------------------------------


def test_a_preemption_spares_annotated_pods_until_the_end_of_its_grace() -> None:
    rig = two_machines()
    rig.runs("keep", keep="karpenter.sh/do-not-disrupt: true")
    rig.runs("web-0")
    rig.preempts(grace=120)
    rig.answer_cordons()
    assert named(rig.evictions()) == ["web-0"]
    rig.wait(89)
    assert rig.evictions() == []
    rig.wait(1)
    assert named(rig.evictions()) == ["keep"]


def test_a_short_grace_is_halved() -> None:
    rig = two_machines()
    rig.runs("keep", keep="karpenter.sh/do-not-disrupt: true")
    rig.preempts(grace=10)
    rig.answer_cordons()
    rig.wait(4)
    assert rig.evictions() == []
    rig.wait(1)
    assert named(rig.evictions()) == ["keep"]
