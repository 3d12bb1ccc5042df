"""What a fresh cache shows as empty is called empty only after the server itself was asked."""

from bigfleet.kube.objects import Node, NodeSpec
from bigfleet.model.machines import MachineState
from bigfleet.model.options import SECOND
from bigfleet.model.session_frames import NodeStateUpdate, ReclaimInstruction
from bigfleet.operator.drain_steps import Check, Checked, Cordon, cordon_patch
from bigfleet.operator.pods_on_nodes import NotMoved
from tests.operator_draining.stage import (
    ID,
    Stage,
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


def asking(grace: int = 600) -> tuple[Stage, Check]:
    """An empty Node; the server was asked and has not answered."""
    stage = draining(grace=grace)
    stage.answers_checks = False
    stage.wait(1)
    return stage, asked_now(stage)


def asked_now(stage: Stage) -> Check:
    (step,) = stage.take(Check)
    assert isinstance(step, Check)
    return step


def marked_but_open() -> Node:
    """Uncordoned by hand, our mark still on it."""
    node = node_record("n-1")
    marked = patched(node, cordon_patch(node, ID))
    return Node(metadata=marked.metadata, spec=NodeSpec())


def test_the_server_is_asked_once_when_the_last_pod_is_gone_and_then_it_is_told() -> None:
    stage = draining(WEB)
    stage.answers_checks = False
    stage.wait(5)
    assert stage.take(Check) == []
    stage.evict(WEB)
    stage.wait(5)
    check = asked_now(stage)
    assert (check.instruction_id, check.nodes, check.absent) == (ID, ("n-1",), ())
    assert stage.acks() == []
    stage.check(check)
    assert stage.acks() == [(ID, 1)]


def test_pods_only_the_server_knows_are_evicted_and_waited_for() -> None:
    stage = draining()
    stage.unheard_pods = [UNHEARD]
    stage.wait(1)
    assert (stage.evictions(), stage.acks()) == ([UNHEARD], [])
    stage.steps += stage.drains.on_evicted(UNHEARD, stage.at)
    stage.unheard_pods = []
    stage.wait(1.9)
    assert stage.acks() == []
    stage.wait(0.1)
    assert (stage.evictions(), stage.acks()) == ([], [(ID, 1)])


def test_while_the_cache_is_blind_the_server_is_asked_at_the_pace_of_evictions() -> None:
    stage = draining()
    stage.unheard_pods = [UNHEARD]
    for _ in range(240):
        stage.wait(0.25)
    assert 25 <= len(stage.checked) <= 31
    assert stage.evictions() == [UNHEARD]


def test_once_the_cache_has_heard_of_the_pod_it_alone_is_watched() -> None:
    stage = draining()
    stage.unheard_pods = [UNHEARD]
    stage.wait(1)
    stage.unheard_pods = []
    stage.has_pod(UNHEARD)
    stage.wait(60)
    assert len(stage.checked) == 1
    stage.evict(UNHEARD)
    assert stage.acks() == [(ID, 1)]
    assert len(stage.checked) == 2


def test_pods_that_cannot_be_moved_are_no_hindrance_whoever_knows_them() -> None:
    stage = draining()
    stage.unheard_pods = [pod_record(why.name, kept=why) for why in NotMoved]
    stage.wait(1)
    assert (stage.evictions(), stage.acks()) == ([], [(ID, 1)])


def test_pods_of_other_nodes_are_not_touched_whatever_the_server_lists() -> None:
    stage, check = asking()
    elsewhere = pod_record("elsewhere", "n-2")
    stage.steps += stage.drains.on_checked(check, Checked((elsewhere,)), stage.at)
    assert (stage.evictions(), stage.acks()) == ([], [(ID, 1)])


def test_pods_only_the_server_knows_are_named_at_the_deadline() -> None:
    stage = draining(grace=10)
    stage.unheard_pods = [UNHEARD]
    stage.wait(10)
    assert stage.acks() == [(ID, 0)]
    assert "1 pod left: shop/unheard-of" in stage.told()[-1].message


def test_a_pod_both_know_is_one_pod() -> None:
    stage = draining(grace=10)
    stage.unheard_pods = [UNHEARD]
    stage.wait(1)
    stage.has_pod(UNHEARD)
    stage.wait(9)
    assert stage.acks() == [(ID, 0)]
    assert "1 pod left: shop/unheard-of" in stage.told()[-1].message


def test_two_instructions_about_one_node_do_not_ask_its_pods_twice() -> None:
    stage = draining()
    stage.unheard_pods = [UNHEARD]
    stage.asks(instruction="bf1-two")
    stage.answer_cordons()
    stage.wait(1)
    assert stage.evictions() == [UNHEARD]
    stage.steps += stage.drains.on_evicted(UNHEARD, stage.at)
    stage.wait(20)
    assert stage.evictions() == []


def test_a_server_that_cannot_be_asked_is_asked_again_until_the_deadline() -> None:
    stage, check = asking(grace=10)
    stage.steps += stage.drains.on_check_failed(check, "the line is down", stage.at)
    stage.wait(1.9)
    assert stage.take(Check) == []
    stage.wait(0.1)
    stage.steps += stage.drains.on_check_failed(asked_now(stage), "the line is down", stage.at)
    stage.wait(8)
    assert stage.acks() == [(ID, 0)]
    assert "the server could not be asked: the line is down" in stage.told()[-1].message


def test_an_answer_that_never_comes_makes_it_none_at_the_deadline() -> None:
    stage, check = asking(grace=10)
    stage.wait(9)
    assert stage.acks() == [(ID, 0)]
    assert "the server has not answered" in stage.told()[-1].message
    stage.check(check)
    assert stage.acks() == []


def test_at_the_deadline_nobody_needs_to_be_asked() -> None:
    stage = draining(WEB, grace=10)
    stage.wait(10)
    assert stage.acks() == [(ID, 0)]
    assert stage.checked == []


def test_a_pod_that_came_after_the_server_was_asked_is_not_overlooked() -> None:
    stage, check = asking()
    stage.has_pod(WEB)
    stage.steps += stage.drains.on_checked(check, Checked(), stage.at)
    assert (stage.acks(), stage.evictions()) == ([], [WEB])
    stage.evict(WEB)
    stage.check(asked_now(stage))
    assert stage.acks() == [(ID, 1)]


def test_what_the_server_said_before_a_second_cordon_does_not_count() -> None:
    stage, early = asking()
    stage.has_node(node_record("n-1"))
    (cordon,) = stage.take(Cordon)
    assert isinstance(cordon, Cordon)
    stage.write(cordon)
    stage.wait(1)
    late = asked_now(stage)
    assert early != late
    stage.check(early)
    assert stage.acks() == []
    stage.check(late)
    assert stage.acks() == [(ID, 1)]


def test_what_was_asked_before_the_node_had_to_be_cordoned_again_does_not_count() -> None:
    stage, early = asking()
    stage.has_node(node_record("n-1"))
    stage.answer_cordons()
    stage.wait(0.9)
    assert stage.take(Check) == []
    # The answer comes just before anybody looks around.
    stage.at += round(0.1 * SECOND)
    stage.check(early)
    assert stage.acks() == []
    stage.check(asked_now(stage))
    assert stage.acks() == [(ID, 1)]


def test_a_cordon_only_the_cache_believes_in_is_set_again_and_the_server_asked_again() -> None:
    stage = draining()
    stage.unheard_changes = {"n-1": marked_but_open()}
    stage.wait(1)
    assert (stage.cordons(), stage.acks()) == (["n-1"], [])
    stage.answer_cordons()
    stage.wait(3)
    assert (stage.acks(), stage.is_cordoned()) == ([(ID, 1)], True)
    assert len(stage.checked) == 2
    assert stage.checked[0].settled_at < stage.checked[1].settled_at


def test_a_cordon_somebody_takes_off_all_the_time_is_set_at_the_pace_of_evictions() -> None:
    stage = draining(grace=60)
    for _ in range(240):
        stage.unheard_changes = {"n-1": marked_but_open()}
        stage.wait(0.25)
        stage.answer_cordons()
    assert stage.acks() == [(ID, 0)]
    assert 20 <= len(stage.checked) <= 31
    assert "the server has n-1 uncordoned" in stage.told()[-1].message


def test_a_cordon_that_cannot_be_set_again_makes_it_none_at_the_deadline() -> None:
    stage = draining(grace=10)
    stage.unheard_changes = {"n-1": marked_but_open()}
    stage.wait(1)
    stage.steps += stage.drains.on_cordon_failed("n-1", "forbidden", stage.at)
    stage.wait(9)
    assert stage.acks() == [(ID, 0)]
    assert "n-1 could not be cordoned: forbidden" in stage.told()[-1].message


def test_a_cordon_the_server_had_does_not_hide_that_it_was_taken_off_since() -> None:
    stage, check = asking()
    cordoned = stage.nodes.node("n-1")
    stage.has_node(marked_but_open())
    stage.unheard_changes = {"n-1": cordoned}
    stage.check(check)
    assert (stage.acks(), stage.is_cordoned()) == ([], False)


def test_a_node_the_server_has_no_more_is_empty() -> None:
    stage = draining()
    stage.unheard_changes = {"n-1": None}
    stage.wait(1)
    assert (stage.acks(), stage.cordons()) == ([(ID, 1)], [])


def test_another_node_of_the_name_is_waited_for_until_the_cache_knows_it() -> None:
    stage = draining(grace=10)
    stage.unheard_changes = {"n-1": node_record("n-1", uid="another")}
    stage.wait(10)
    assert (stage.acks(), stage.cordons()) == ([(ID, 0)], [])
    assert "the server has n-1 uncordoned, and the cache" in stage.told()[-1].message


def test_a_question_that_was_lost_with_its_session_is_asked_again() -> None:
    stage, check = asking()
    stage.disconnect()
    assert not stage.drains.may_check(check)
    stage.connect(CONFIGURED, asked=ReclaimInstruction(ID, ("n-1",), 600))
    assert stage.acks() == [(ID, 1)]
    stage.check(asked_now(stage))
    assert stage.acks() == [(ID, 1)]


def test_a_question_about_what_was_called_off_is_not_asked_any_more() -> None:
    stage, check = asking()
    assert stage.drains.may_check(check)
    stage.tells(S.CONFIGURED)
    assert not stage.drains.may_check(check)
    stage.check(check)
    stage.answer_cordons()
    assert stage.acks() == []


def test_a_node_is_absent_only_if_the_server_has_none_of_its_names() -> None:
    stage = joined()
    stage.unheard_nodes = {"n-9"}
    stage.tells(S.CONFIGURED, "m-9", "n-9")
    stage.asks("m-9", grace=60)
    stage.wait(10)
    assert stage.acks() == [(ID, 0)]
    assert {check.absent for check in stage.checked} == {("m-9", "n-9")}
    assert len(stage.checked) <= 6
    stage.unheard_nodes = set()
    stage.wait(3)
    assert stage.acks() == [(ID, 1)]


def test_a_node_only_the_server_knows_is_named_at_the_deadline() -> None:
    stage = joined()
    stage.unheard_nodes = {"n-9"}
    stage.tells(S.CONFIGURED, "m-9", "n-9")
    stage.asks("n-9", grace=10)
    stage.wait(10)
    assert stage.acks() == [(ID, 0), (ID, 0)]
    blocked = stage.told()[-1]
    assert (blocked.about.name, blocked.reason) == ("n-9", "ReclaimBlocked")
    assert "the server has n-9, and the cache did not know" in blocked.message


def test_a_node_that_went_during_its_drain_is_asked_for_by_the_name_it_had() -> None:
    stage = Stage()
    stage.has_node(node_record("ip-10-0-0-1", "aws:///eu-1a/i-9"))
    stage.connect(NodeStateUpdate("m-9", "shop", S.CONFIGURED, provider_id="i-9"))
    stage.asks("m-9")
    stage.answer_cordons()
    stage.loses_node("ip-10-0-0-1")
    assert stage.acks() == [(ID, 1), (ID, 1)]
    assert stage.checked[-1].absent == ("ip-10-0-0-1", "m-9")


def test_names_no_node_can_have_and_nodes_of_others_are_not_asked_for() -> None:
    stage = joined()
    stage.has_node(node_record("m-9", label="m-8"))
    update = NodeStateUpdate("pool/M-9", "shop", S.CONFIGURED, "m-9")
    stage.steps += stage.drains.on_node_state(update, stage.at)
    stage.asks("pool/M-9")
    assert stage.acks() == [(ID, 0), (ID, 1)]
    assert [check.absent for check in stage.checked] == [()]
