"""How margins are lowered: rounds in vain, probes, empty Nodes, refusals, restarts."""

from dataclasses import replace

from bigfleet.model.options import SECOND
from bigfleet.placement.admission import AdmissionRefusal, RefusedBy
from bigfleet.placement.margin_notes import NoteKind
from tests.placement.situation import Situation
from tests.placement.small import pod

MINUTE = 60.0


def in_vain(given: Situation, margin: int) -> None:
    """A machine comes, and the scheduler says the same again."""
    given.send()
    given.after(30)
    given.nodes(1, first=len(given.occupancy.nodes) + 1)
    given.judge_again()
    given.after(2)
    given.send()
    given.reply(own=1, margin=margin)
    given.turn()


def hopeless() -> Situation:
    given = Situation()
    given.nodes(1)
    given.put(pod("a", "6", node="n1"))
    given.stuck(pod("b", "1", owner="odd"))
    given.after(10)
    given.round(own=1)
    return given


def test_after_three_rounds_in_vain_the_margin_goes_back_and_the_pod_is_told() -> None:
    given = hopeless()
    in_vain(given, 1)
    assert given.margin == "cpu 9"
    in_vain(given, 2)
    assert given.margin == "cpu 17"
    in_vain(given, 3)
    assert given.margin == ""
    assert given.notes[-1].kind is NoteKind.GIVEN_UP
    assert given.notes[-1].sentence.endswith("tried again later: x")


def test_a_new_pod_of_the_same_controller_and_size_does_not_start_anew() -> None:
    given = hopeless()
    in_vain(given, 1)
    given.occupancy.remove_pod("uid-b", given.at)
    given.stuck(pod("c", "1", owner="odd"))
    given.after(10)
    in_vain(given, 2)
    in_vain(given, 3)
    assert given.margin == ""


def test_machines_whose_nodes_never_match_are_given_up_as_well() -> None:
    given = hopeless()
    for margin in (1, 2, 3):
        given.send()
        given.after(1)
        given.round(own=1, margin=margin)
        given.after(60)
        given.judge_again()
        given.round(own=1, margin=margin)
    assert given.margin == ""
    assert given.margins.figures.fruitless == 3


def test_it_is_tried_again_after_ten_minutes_and_then_twice_as_late() -> None:
    given = hopeless()
    for margin in (1, 2, 3):
        in_vain(given, margin)
    given.after(9 * MINUTE)
    assert not given.round(own=1)
    given.after(2 * MINUTE)
    assert given.round(own=1)
    in_vain(given, 1)
    assert given.margin == ""
    given.after(19 * MINUTE)
    assert not given.round(own=1)
    given.after(2 * MINUTE)
    assert given.round(own=1)


def test_a_round_that_helped_one_pod_is_not_in_vain() -> None:
    given = Situation()
    given.nodes(1)
    given.put(pod("a", "6", node="n1"))
    given.stuck(pod("b", "5"), pod("c", "6"))
    given.after(10)
    given.round(own=3)
    given.send()
    given.nodes(1, first=2)
    given.bind("b", "n2")
    given.judge_again()
    given.after(1)
    given.round(own=3, margin=1)
    assert given.margins.figures.fruitless == 0


def with_margin() -> Situation:
    """Own row of two machines, a margin of one, each with a pod of 5."""
    given = Situation()
    given.nodes(2)
    given.put(pod("p1", "5", node="n1"), pod("p2", "5", node="n2"))
    given.stuck(pod("p3", "5"))
    given.after(10)
    given.round(own=2)
    given.send()
    given.nodes(1, first=3)
    given.bind("p3", "n3")
    given.round(own=2, margin=1)
    assert given.margin == "cpu 5"
    return given


def settled(given: Situation, minutes: float, own: int = 2, margin: int = 1) -> bool:
    given.after(minutes * MINUTE)
    return given.round(own, margin)


def test_a_margin_is_not_probed_while_no_node_could_go() -> None:
    given = with_margin()
    assert not settled(given, 31)
    assert given.margins.figures.probes == 0


def roomy() -> Situation:
    """The pods of each Node would fit on the others."""
    given = with_margin()
    for name in ("p1", "p2", "p3"):
        known = given.occupancy.pods[f"uid-{name}"]
        given.occupancy.put_pod(replace(known, requests=pod("x", "3").requests), given.at)
    assert not given.round(own=2, margin=1)
    return given


def test_after_half_an_hour_a_margin_is_lowered_by_one_machine() -> None:
    given = roomy()
    assert not settled(given, 29)
    assert settled(given, 2)
    assert given.margin == ""


def test_an_admitted_drain_makes_it_lasting() -> None:
    given = roomy()
    settled(given, 31)
    given.margins.on_drain_admitted("n3", given.at)
    given.round(own=2)
    assert given.margin == ""
    assert given.margins.sizes()["margins"] == 0


def refusal(given: Situation, name: str, where: str) -> AdmissionRefusal:
    return AdmissionRefusal(
        RefusedBy.NO_ROOM, where, "no room", given.occupancy.pods[f"uid-{name}"]
    )


def test_a_refusal_restores_a_lowered_margin_and_the_next_try_waits_twice_as_long() -> None:
    given = roomy()
    before = given.margin
    settled(given, 31)
    assert given.margins.on_refused(refusal(given, "p3", "n3"), given.at)
    assert given.margin == before
    assert not settled(given, 59)
    assert settled(given, 2)


def test_a_refused_drain_keeps_the_machine_by_a_margin_that_is_not_capped() -> None:
    given = Situation()
    given.nodes(2)
    given.put(pod("p1", "4", node="n1"), pod("p2", "4", node="n2"))
    given.round(own=1)
    assert given.margins.on_refused(refusal(given, "p2", "n2"), given.at)
    assert given.margin == "cpu 4"
    given.send()
    given.reply(own=1, margin=1)
    assert not given.turn()
    assert given.margin == "cpu 4"


def test_a_refusal_that_is_repeated_before_the_next_reply_counts_once() -> None:
    given = Situation()
    given.nodes(2)
    given.put(pod("p1", "4", node="n1"), pod("p2", "4", node="n2"))
    given.round(own=1)
    for _ in range(3):
        given.margins.on_refused(refusal(given, "p2", "n2"), given.at)
    assert given.margin == "cpu 4"


def test_two_nodes_refused_before_the_next_reply_are_both_kept() -> None:
    given = Situation()
    given.nodes(3)
    given.put(*(pod(f"p{n}", "2", node=f"n{n}") for n in (1, 2, 3)))
    given.round(own=1)
    given.margins.on_refused(refusal(given, "p2", "n2"), given.at)
    given.margins.on_refused(refusal(given, "p3", "n3"), given.at)
    assert given.margin == "cpu 10"


def test_a_refusal_by_a_pod_without_a_need_changes_nothing() -> None:
    given = Situation()
    given.nodes(1)
    given.put(pod("p1", "4", node="n1"))
    given.round(own=1)
    stranger = AdmissionRefusal(
        RefusedBy.NO_CONTROLLER, "n1", "bare", pod("bare", need=None, node="n1")
    )
    assert not given.margins.on_refused(stranger, given.at)
    assert given.margin == ""


def test_an_empty_node_leaves_the_margin_after_two_minutes() -> None:
    given = with_margin()
    given.occupancy.remove_pod("uid-p3", given.at)
    given.put(pod("q", "1", node="n1"))
    given.after(1)
    given.round(own=2, margin=1)
    assert given.margin != ""
    assert settled(given, 2)
    assert given.margin == ""


def test_an_empty_node_stays_while_a_pod_waits() -> None:
    given = with_margin()
    given.occupancy.remove_pod("uid-p3", given.at)
    given.put(pod("q", "1", node="n1"))
    given.after(2.1 * MINUTE)
    given.put(pod("fresh", "1"))
    given.round(own=2, margin=1)
    assert given.margin != ""


def test_after_a_restart_a_margin_starts_at_what_its_row_has() -> None:
    given = with_margin()
    given.restart()
    waited = given.margins.awaits_first_reply
    given.reply(own=2, margin=1)
    assert (waited, given.margins.awaits_first_reply) == (True, False)
    assert [row.aggregate["cpu"] for row in given.send()] == [15_000, 8_000]


def test_a_restart_without_margins_starts_at_zero() -> None:
    given = Situation()
    given.nodes(1)
    given.put(pod("a", "1", node="n1"))
    given.round(own=1)
    given.restart()
    given.reply(own=1)
    assert [row.group for row in given.send()] == [""]


def test_what_is_remembered_goes_with_what_it_is_about() -> None:
    given = hopeless()
    for margin in (1, 2, 3):
        in_vain(given, margin)
    for uid in list(given.occupancy.pods):
        given.occupancy.remove_pod(uid, given.at)
    for name in list(given.occupancy.nodes):
        given.occupancy.remove_node(name)
    given.at += 5 * 3600 * SECOND
    given.margins.on_demand([])
    given.turn()
    assert set(given.margins.sizes().values()) == {0}
