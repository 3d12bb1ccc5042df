"""What a fresh cache shows as empty is called empty only after the server itself was asked."""

from bigfleet.kube.objects import Node, NodeSpec
from bigfleet.model.machines import MachineState
from bigfleet.model.options import SECOND
from bigfleet.model.session_frames import NodeStateUpdate, ReclaimInstruction
from bigfleet.operator.drain_steps import Check, Cordon, ServerCheck, cordon_patch
from bigfleet.operator.pods_on_nodes import NotMoved
from tests.operator_draining.rig import (
    ID,
    Rig,
    draining,
    joined,
    node_record,
    patched,
    pod_record,
)

S = MachineState
WEB = pod_record("web-0")
UNHEARD = pod_record("unheard-of")
CONFIGURED = NodeStateUpdate("m-1", "shop", S.CONFIGURED, "n-1")


def asking(grace: int = 600) -> tuple[Rig, Check]:
    """An empty Node; the server was asked and has not answered."""
    rig = draining(grace=grace)
    rig.answers_checks = False
    rig.wait(1)
    return rig, asked_now(rig)


def asked_now(rig: Rig) -> Check:
    (step,) = rig.take(Check)
    assert isinstance(step, Check)
    return step


def marked_but_open() -> Node:
    """Uncordoned by hand, our mark still on it."""
    node = node_record("n-1")
    marked = patched(node, cordon_patch(node, ID))
    return Node(metadata=marked.metadata, spec=NodeSpec())


def test_the_server_is_asked_once_when_the_last_pod_is_gone_and_then_it_is_told() -> None:
    rig = draining(WEB)
    rig.answers_checks = False
    rig.wait(5)
    assert rig.take(Check) == []
    rig.evict(WEB)
    rig.wait(5)
    check = asked_now(rig)
    assert (check.instruction_id, check.nodes, check.absent) == (ID, ("n-1",), ())
    assert rig.acks() == []
    rig.check(check)
    assert rig.acks() == [(ID, 1)]


def test_pods_only_the_server_knows_are_evicted_and_waited_for() -> None:
    rig = draining()
    rig.unheard_pods = [UNHEARD]
    rig.wait(1)
    assert (rig.evictions(), rig.acks()) == ([UNHEARD], [])
    rig.steps += rig.drains.on_evicted(UNHEARD, rig.at)
    rig.unheard_pods = []
    rig.wait(1.9)
    assert rig.acks() == []
    rig.wait(0.1)
    assert (rig.evictions(), rig.acks()) == ([], [(ID, 1)])


def test_while_the_cache_is_blind_the_server_is_asked_at_the_pace_of_evictions() -> None:
    rig = draining()
    rig.unheard_pods = [UNHEARD]
    for _ in range(240):
        rig.wait(0.25)
    assert 25 <= len(rig.checked) <= 31
    assert rig.evictions() == [UNHEARD]


def test_once_the_cache_has_heard_of_the_pod_it_alone_is_watched() -> None:
    rig = draining()
    rig.unheard_pods = [UNHEARD]
    rig.wait(1)
    rig.unheard_pods = []
    rig.has_pod(UNHEARD)
    rig.wait(60)
    assert len(rig.checked) == 1
    rig.evict(UNHEARD)
    assert rig.acks() == [(ID, 1)]
    assert len(rig.checked) == 2


def test_pods_that_cannot_be_moved_do_not_hinder_a_drain() -> None:
    rig = draining()
    rig.unheard_pods = [pod_record(why.name, kept=why) for why in NotMoved]
    rig.wait(1)
    assert (rig.evictions(), rig.acks()) == ([], [(ID, 1)])


def test_pods_of_other_nodes_are_not_touched_even_if_the_server_lists_them() -> None:
    rig, check = asking()
    elsewhere = pod_record("elsewhere", "n-2")
    rig.steps += rig.drains.on_checked(check, ServerCheck((elsewhere,)), rig.at)
    assert (rig.evictions(), rig.acks()) == ([], [(ID, 1)])


def test_pods_only_the_server_knows_are_named_at_the_deadline() -> None:
    rig = draining(grace=10)
    rig.unheard_pods = [UNHEARD]
    rig.wait(10)
    assert rig.acks() == [(ID, 0)]
    assert "1 pod left: shop/unheard-of" in rig.told()[-1].message


def test_a_pod_both_know_is_one_pod() -> None:
    rig = draining(grace=10)
    rig.unheard_pods = [UNHEARD]
    rig.wait(1)
    rig.has_pod(UNHEARD)
    rig.wait(9)
    assert rig.acks() == [(ID, 0)]
    assert "1 pod left: shop/unheard-of" in rig.told()[-1].message


def test_two_instructions_about_one_node_do_not_ask_its_pods_twice() -> None:
    rig = draining()
    rig.unheard_pods = [UNHEARD]
    rig.asks(instruction="bf1-two")
    rig.answer_cordons()
    rig.wait(1)
    assert rig.evictions() == [UNHEARD]
    rig.steps += rig.drains.on_evicted(UNHEARD, rig.at)
    rig.wait(20)
    assert rig.evictions() == []


def test_a_server_that_cannot_be_asked_is_asked_again_until_the_deadline() -> None:
    rig, check = asking(grace=10)
    rig.steps += rig.drains.on_check_failed(check, "the line is down", rig.at)
    rig.wait(1.9)
    assert rig.take(Check) == []
    rig.wait(0.1)
    rig.steps += rig.drains.on_check_failed(asked_now(rig), "the line is down", rig.at)
    rig.wait(8)
    assert rig.acks() == [(ID, 0)]
    assert "the server could not be asked: the line is down" in rig.told()[-1].message


def test_an_answer_that_never_comes_makes_it_none_at_the_deadline() -> None:
    rig, check = asking(grace=10)
    rig.wait(9)
    assert rig.acks() == [(ID, 0)]
    assert "the server has not answered" in rig.told()[-1].message
    rig.check(check)
    assert rig.acks() == []


def test_at_the_deadline_the_server_need_not_be_asked() -> None:
    rig = draining(WEB, grace=10)
    rig.wait(10)
    assert rig.acks() == [(ID, 0)]
    assert rig.checked == []


def test_a_pod_that_came_after_the_server_was_asked_is_not_overlooked() -> None:
    rig, check = asking()
    rig.has_pod(WEB)
    rig.steps += rig.drains.on_checked(check, ServerCheck(), rig.at)
    assert (rig.acks(), rig.evictions()) == ([], [WEB])
    rig.evict(WEB)
    rig.check(asked_now(rig))
    assert rig.acks() == [(ID, 1)]


def test_what_the_server_said_before_a_second_cordon_does_not_count() -> None:
    rig, early = asking()
    rig.has_node(node_record("n-1"))
    (cordon,) = rig.take(Cordon)
    assert isinstance(cordon, Cordon)
    rig.write(cordon)
    rig.wait(1)
    late = asked_now(rig)
    assert early != late
    rig.check(early)
    assert rig.acks() == []
    rig.check(late)
    assert rig.acks() == [(ID, 1)]


def test_what_was_asked_before_the_node_had_to_be_cordoned_again_does_not_count() -> None:
    rig, early = asking()
    rig.has_node(node_record("n-1"))
    rig.answer_cordons()
    rig.wait(0.9)
    assert rig.take(Check) == []
    # The answer comes just before the next look.
    rig.at += round(0.1 * SECOND)
    rig.check(early)
    assert rig.acks() == []
    rig.check(asked_now(rig))
    assert rig.acks() == [(ID, 1)]


def test_a_cordon_only_the_cache_believes_in_is_set_again_and_the_server_asked_again() -> None:
    rig = draining()
    rig.unheard_changes = {"n-1": marked_but_open()}
    rig.wait(1)
    assert (rig.cordons(), rig.acks()) == (["n-1"], [])
    rig.answer_cordons()
    rig.wait(3)
    assert (rig.acks(), rig.is_cordoned()) == ([(ID, 1)], True)
    assert len(rig.checked) == 2
    assert rig.checked[0].settled_at < rig.checked[1].settled_at


def test_a_cordon_that_is_taken_off_all_the_time_is_set_at_the_pace_of_evictions() -> None:
    rig = draining(grace=60)
    for _ in range(240):
        rig.unheard_changes = {"n-1": marked_but_open()}
        rig.wait(0.25)
        rig.answer_cordons()
    assert rig.acks() == [(ID, 0)]
    assert 20 <= len(rig.checked) <= 31
    assert "the server has n-1 uncordoned" in rig.told()[-1].message


def test_a_cordon_that_cannot_be_set_again_makes_it_none_at_the_deadline() -> None:
    rig = draining(grace=10)
    rig.unheard_changes = {"n-1": marked_but_open()}
    rig.wait(1)
    rig.steps += rig.drains.on_cordon_failed("n-1", "forbidden", rig.at)
    rig.wait(9)
    assert rig.acks() == [(ID, 0)]
    assert "n-1 could not be cordoned: forbidden" in rig.told()[-1].message


def test_a_cordon_the_server_had_does_not_hide_that_it_was_taken_off_since() -> None:
    rig, check = asking()
    cordoned = rig.nodes.node("n-1")
    rig.has_node(marked_but_open())
    rig.unheard_changes = {"n-1": cordoned}
    rig.check(check)
    assert (rig.acks(), rig.is_cordoned()) == ([], False)


def test_a_node_the_server_has_no_more_is_empty() -> None:
    rig = draining()
    rig.unheard_changes = {"n-1": None}
    rig.wait(1)
    assert (rig.acks(), rig.cordons()) == ([(ID, 1)], [])


def test_another_node_of_the_name_is_waited_for_until_the_cache_knows_it() -> None:
    rig = draining(grace=10)
    rig.unheard_changes = {"n-1": node_record("n-1", uid="another")}
    rig.wait(10)
    assert (rig.acks(), rig.cordons()) == ([(ID, 0)], [])
    assert "the server has n-1 uncordoned, and the cache" in rig.told()[-1].message


def test_a_question_that_was_lost_with_its_session_is_asked_again() -> None:
    rig, check = asking()
    rig.disconnect()
    assert not rig.drains.may_check(check)
    rig.connect(CONFIGURED, asked=ReclaimInstruction(ID, ("n-1",), 600))
    assert rig.acks() == [(ID, 1)]
    rig.check(asked_now(rig))
    assert rig.acks() == [(ID, 1)]


def test_a_question_about_what_was_called_off_is_not_asked_any_more() -> None:
    rig, check = asking()
    assert rig.drains.may_check(check)
    rig.tells(S.CONFIGURED)
    assert not rig.drains.may_check(check)
    rig.check(check)
    rig.answer_cordons()
    assert rig.acks() == []


def test_a_node_is_absent_only_if_the_server_has_none_of_its_names() -> None:
    rig = joined()
    rig.unheard_nodes = {"n-9"}
    rig.tells(S.CONFIGURED, "m-9", "n-9")
    rig.asks("m-9", grace=60)
    rig.wait(10)
    assert rig.acks() == [(ID, 0)]
    assert {check.absent for check in rig.checked} == {("m-9", "n-9")}
    assert len(rig.checked) <= 6
    rig.unheard_nodes = set()
    rig.wait(3)
    assert rig.acks() == [(ID, 1)]


def test_a_node_only_the_server_knows_is_named_at_the_deadline() -> None:
    rig = joined()
    rig.unheard_nodes = {"n-9"}
    rig.tells(S.CONFIGURED, "m-9", "n-9")
    rig.asks("n-9", grace=10)
    rig.wait(10)
    assert rig.acks() == [(ID, 0), (ID, 0)]
    blocked = rig.told()[-1]
    assert (blocked.about.name, blocked.reason) == ("n-9", "ReclaimBlocked")
    assert "the server has n-9, and the cache did not know" in blocked.message


def test_a_node_that_went_during_its_drain_is_asked_for_by_the_name_it_had() -> None:
    rig = Rig()
    rig.has_node(node_record("ip-10-0-0-1", "aws:///eu-1a/i-9"))
    rig.connect(NodeStateUpdate("m-9", "shop", S.CONFIGURED, provider_id="i-9"))
    rig.asks("m-9")
    rig.answer_cordons()
    rig.loses_node("ip-10-0-0-1")
    assert rig.acks() == [(ID, 1), (ID, 1)]
    assert rig.checked[-1].absent == ("ip-10-0-0-1", "m-9")


def test_names_no_node_can_have_and_nodes_of_others_are_not_asked_for() -> None:
    rig = joined()
    rig.has_node(node_record("m-9", label="m-8"))
    update = NodeStateUpdate("pool/M-9", "shop", S.CONFIGURED, "m-9")
    rig.steps += rig.drains.on_node_state(update, rig.at)
    rig.asks("pool/M-9")
    assert rig.acks() == [(ID, 0), (ID, 1)]
    assert [check.absent for check in rig.checked] == [()]
